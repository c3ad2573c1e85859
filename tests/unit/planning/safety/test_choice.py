"""Choosing who may go down together: a safe set after which few are left, the same again, a reason for the rest."""

from functools import cache
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.planning.facts.facts import Facts, derive
from stateward.planning.model import observation as o
from stateward.planning.safety.safe_set import choose, conflicts
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import PoolSpec, hot, managers


def facts_of(
    specs: list[PoolSpec], units: list[tuple[str, ...]], *, zones: int = 0, budget: int | None = None, down: str = ""
) -> Facts:
    """Return a healthy cluster with units on the given members; those named in `down` have no pod."""
    members: list[o.Member] = []
    for spec in specs:
        inputs = spec.inputs("1.0.0")
        for i in range(spec.replicas):
            name = f"{spec.name}-{i}"
            ref = o.Ref(name, name, "1")
            zone = f"z{i % zones}" if zones else ""
            pod = o.Pod(ref, inputs, "1.0.0", created=0.0, ready=True, running=True, zone=zone, claims=True)
            workload = o.Workload(ref, inputs, "1.0.0", 1, observed=True)
            claim = o.Claim(ref, 1, 1, "standard")
            pod_or_none = None if name in down.split() else pod
            members.append(o.Member(name, spec.name, i, workload, pod_or_none, claim, inputs))
    up = [m.name for m in members if m.pod is not None]
    specs_by_name = {spec.name: spec for spec in specs}
    database = o.Database(
        identity="x",
        health=o.Health.GREEN,
        nodes={
            m.name: o.Node(m.name, "1.0.0", specs_by_name[m.pool].data, specs_by_name[m.pool].voting)
            for m in members
            if m.name in up
        },
        units=tuple(
            o.Unit(
                f"u{n}",
                len(homes),
                tuple(o.Copy(o.CopyState.STARTED, i == 0, h) for i, h in enumerate(homes) if h in up),
            )
            for n, homes in enumerate(units)
        ),
        voters=frozenset(m.name for m in members if specs_by_name[m.pool].voting),
    )
    desired = o.Desired("1.0.0", tuple(p.desired("1.0.0", "1.0.0") for p in specs), max_unavailable=budget)
    records = {m.name: o.Record("1.0.0", zone=f"z{m.ordinal % zones}" if zones else "") for m in members}
    return derive(o.Observation("c", "ns", "u", 1, desired, tuple(members), database, "1.0.0", records), NOW)


def copies(homes: tuple[str, ...], up: list[str]) -> tuple[o.Copy, ...]:
    return tuple(o.Copy(o.CopyState.STARTED, i == 0, home) for i, home in enumerate(homes) if home in up)


def chosen(facts: Facts, pool: str = "hot", first: frozenset[str] = frozenset()) -> tuple[str, ...]:
    return choose(facts, [m for m in facts.obs.members if m.pool == pool], first).chosen


def test_the_default_is_one_at_a_time_in_the_order_of_the_candidates() -> None:
    assert chosen(facts_of([managers(), hot(4)], [], budget=1)) == ("hot-0",)


def test_two_that_share_a_shard_do_not_go_together() -> None:
    facts = facts_of([managers(), hot(3)], [("hot-0", "hot-1"), ("hot-1", "hot-2")])
    assert chosen(facts) == ("hot-0", "hot-2")


def test_members_that_fit_together_go_first_if_the_first_candidate_conflicts_with_all_others() -> None:
    facts = facts_of([managers(), hot(4)], [("hot-0", "hot-1"), ("hot-0", "hot-2"), ("hot-0", "hot-3")])
    assert chosen(facts) == ("hot-1", "hot-2", "hot-3")


def test_what_is_prepared_already_is_chosen_again_though_a_larger_set_has_appeared() -> None:
    facts = facts_of([managers(), hot(4)], [("hot-0", "hot-1"), ("hot-0", "hot-2"), ("hot-0", "hot-3")])
    assert chosen(facts, first=frozenset({"hot-0"})) == ("hot-0",)


def test_three_copies_let_two_go_and_not_three() -> None:
    assert len(chosen(facts_of([managers(), hot(3)], [("hot-0", "hot-1", "hot-2")]))) == 2


def test_zones_go_one_at_a_time_and_the_one_with_most_candidates_that_fit_first() -> None:
    assert chosen(facts_of([managers(), hot(5)], [], zones=3)) == ("hot-0", "hot-3")


def test_a_zone_that_is_not_known_is_another_one_where_others_are_known() -> None:
    facts = facts_of([managers(), hot(4)], [], zones=2)
    lost = [
        replace(m, pod=replace(m.pod, zone="")) if m.pod is not None and m.name in ("hot-1", "hot-3") else m
        for m in facts.obs.members
    ]
    records = {n: replace(r, zone="") if n in ("hot-1", "hot-3") else r for n, r in facts.obs.records.items()}
    known = derive(replace(facts.obs, members=tuple(lost), records=records), facts.now)
    together = choose(known, [m for m in known.obs.members if m.pool == "hot"]).chosen
    assert together in (("hot-0", "hot-2"), ("hot-1", "hot-3"))


def test_a_member_whose_zone_is_not_known_waits_for_one_that_is_down_in_a_known_zone() -> None:
    """The disaster this prevents: some nodes lack the label of their zone, so parts of two zones are down at once."""
    facts = facts_of([managers(), hot(4)], [], zones=2, budget=2, down="hot-0")
    members = {
        n: replace(m, pod=replace(m.pod, zone="")) if n == "hot-1" and m.pod is not None else m
        for n, m in facts.members.items()
    }
    records = {n: replace(r, zone="") if n == "hot-1" else r for n, r in facts.obs.records.items()}
    facts = replace(facts, members=members, obs=replace(facts.obs, records=records))
    assert choose(facts, [members["hot-1"]]).held == {"hot-1": "hot-0 is down in z0, and zones change one at a time"}


def test_a_member_that_is_down_in_another_zone_holds_all_other_members() -> None:
    facts = facts_of([managers(), hot(6)], [], zones=3, down="hot-4")
    choice = choose(facts, [m for m in facts.obs.members if m.pool == "hot" and m.pod])
    assert choice.chosen == ("hot-1",)
    assert "hot-4 is down in z1" in choice.held["hot-0"]


def test_managers_go_one_at_a_time_whatever_the_budget() -> None:
    assert len(chosen(facts_of([managers(5), hot(2)], []), "managers")) == 1


def test_no_manager_goes_while_one_is_down() -> None:
    facts = facts_of([managers(3), hot(2)], [], down="managers-1")
    choice = choose(facts, [m for m in facts.obs.members if m.pool == "managers" and m.pod])
    assert not choice.chosen
    assert "manager managers-1 is down" in choice.held["managers-0"]


def test_all_other_members_report_which_member_they_wait_for() -> None:
    facts = facts_of([managers(), hot(3)], [], budget=1)
    held = choose(facts, [m for m in facts.obs.members if m.pool == "hot"]).held
    assert held == dict.fromkeys(("hot-1", "hot-2"), "it is later in the rollout order than hot-0")


def test_one_hundred_and_twenty_members_are_searched_within_bounds() -> None:
    random = Random(7)  # noqa: S311
    units = [tuple(random.sample([f"hot-{i}" for i in range(120)], 2)) for _ in range(3000)]
    found = chosen(facts_of([managers(), hot(120)], units))
    assert len(found) > 5
    assert not any(set(unit) <= set(found) for unit in units)


def test_a_smaller_set_goes_first_where_the_largest_one_would_leave_a_set_more() -> None:
    """Two paths of three that meet: the four ends go together at most, and leave two that share a shard."""
    units = [("hot-0", "hot-1"), ("hot-1", "hot-2"), ("hot-1", "hot-4"), ("hot-3", "hot-4"), ("hot-4", "hot-5")]
    facts = facts_of([managers(), hot(6)], units)
    assert safe(facts, ("hot-0", "hot-2", "hot-3", "hot-5"), units)
    assert len(chosen(facts)) == 3


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32))
def test_no_choice_leaves_more_sets_than_the_best_and_no_further_member_could_go(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    size = random.randint(1, 7)
    names = [f"hot-{i}" for i in range(size)]
    units = [tuple(random.sample(names, min(size, random.randint(2, 3)))) for _ in range(random.randint(0, 12))]
    units = [unit for unit in units if len(unit) > 1]
    budget, zones = random.choice([1, 2, 3, None]), random.choice([0, 0, 2, 3])
    down = random.choice(names) if random.random() < 0.3 else ""
    voting = random.random() < 0.3
    pool = PoolSpec("hot", size, voting, data=True)
    facts = facts_of([managers(3), pool] if not voting else [pool], units, zones=zones, budget=budget, down=down)
    able = [n for n in names if n != down and safe(facts, (n,), units)]
    found = chosen_of(facts, [n for n in names if n != down])

    @cache
    def fewest(left: tuple[str, ...]) -> int:
        """Return how many sets it takes at least, of those that the first of the left is in."""
        others = [
            tuple(n for i, n in enumerate(left[1:]) if chosen >> i & 1) for chosen in range(1 << max(0, len(left) - 1))
        ]
        taken = [(left[0], *other) for other in others if left and safe(facts, (left[0], *other), units)]
        return 1 + min(fewest(tuple(n for n in left if n not in chosen)) for chosen in taken) if left else 0

    assert safe(facts, found, units)
    assert fewest(tuple(able)) == fewest(tuple(n for n in able if n not in found)) + (1 if able else 0)
    assert not any(safe(facts, (*found, n), units) for n in able if n not in found)


def chosen_of(facts: Facts, names: list[str]) -> tuple[str, ...]:
    return choose(facts, [facts.members[n] for n in names]).chosen


def safe(facts: Facts, group: tuple[str, ...], units: list[tuple[str, ...]]) -> bool:
    """Return whether the group may go down, said as plainly as it can be."""
    gone, budget = set(group) | facts.down, facts.obs.desired.max_unavailable
    voters = {n for n in facts.members if facts.votes(facts.members[n])}
    touched = voters & set(group)
    kept = not touched or len(voters) <= 2 or len(voters - gone) > len(voters) // 2
    live = [set(unit) - facts.down for unit in units]
    return not group or (
        (budget is None or len(gone) <= budget)
        and len({facts.zone(n) for n in gone}) <= 1
        and (not touched or len(voters & gone) <= 1)
        and kept
        and all(holders - gone or not holders & set(group) or len(holders) == 1 for holders in live)
    )


def test_a_manager_and_a_data_member_do_not_exclude_each_other() -> None:
    facts = facts_of([managers(1), hot(2)], [])
    assert conflicts(facts, list(facts.obs.members)) == [0, 0, 0]
    facts = facts_of([managers(2), hot(1)], [])
    assert sorted(conflicts(facts, list(facts.obs.members))) == [0, 2, 4]
