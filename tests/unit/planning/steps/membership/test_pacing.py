"""A pause between the releases of two members, even if the operator dies in between."""

from collections.abc import Mapping
from itertools import pairwise
from math import inf

import pytest
from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.facts.facts import Facts, derive
from stateward.planning.model import actions as a
from stateward.planning.model.intent import StepResult
from stateward.planning.model.observation import Claim, Database, Observation, Record, Ref, Replacement, Unknown
from stateward.planning.model.times import rfc3339
from stateward.planning.plan import plan
from stateward.planning.report.status import status
from stateward.planning.steps.membership.pacing import COUNTED, limit_releases, maintenance_end
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import PoolSpec, gateway
from tests.unit.planning.safety.test_choice import facts_of
from tests.unit.planning.world import TICK, World, hot, managers, settled

WAIT = 60.0
NAMES = frozenset({"c-hot-0", "c-hot-1", "c-hot-2"})


def leaving(**policy: object) -> World:
    """Return a cluster of which three members with data leave at once."""
    world = settled(managers(), hot(6), indices=((1,), (1,)))
    return world.edit(policy={"replacement": Replacement(replace=NAMES), **policy})


def released(world: World) -> list[float]:
    return [when for when, action in world.log if isinstance(action, a.Release)]


def pauses(world: World) -> list[float]:
    times = released(world)
    return [later - earlier for earlier, later in pairwise(times)]


def test_members_leave_with_the_wait_between_them_and_report_it() -> None:
    world = leaving(wait_between_removals=WAIT)
    world.until(lambda w: len(released(w)) == 1, limit=400).tick()
    waits = [w for w in world.plan().waits if w.reason == "RemovalPaced"]
    assert waits
    left = world.observe().last_removal
    assert left is not None
    assert released(world)[0] <= left <= world.now
    assert f"another member left at {rfc3339(left)}" in waits[0].message
    assert waits[0].message.endswith(f"no earlier than {rfc3339(left + WAIT)}")
    assert not waits[0].stalled
    world.run(900)
    assert len(released(world)) == 3
    assert min(pauses(world)) >= WAIT
    assert max(pauses(world)) <= WAIT + 12 * TICK


RELEASES = tuple(a.Release(why="x", member=f"hot-{i}", workload=Ref(f"hot-{i}", "u", "1")) for i in range(2))
OTHER = a.MarkVolume(why="x", member="hot-0", claim=Ref("data", "u", "1"), left=True)


@pytest.mark.parametrize(
    ("wait", "last", "releases"),
    [
        (0.0, NOW, ["hot-0", "hot-1"]),
        (WAIT, None, ["hot-0"]),
        (WAIT, NOW - WAIT, ["hot-0"]),
        (WAIT, NOW - WAIT + 1, []),
    ],
)
def test_only_releases_wait_and_one_of_them_goes_as_soon_as_the_wait_is_over(
    wait: float, last: float | None, releases: list[str]
) -> None:
    base = facts_of([hot(3)], [("hot-0", "hot-1")])
    observed = replace(base.obs, desired=replace(base.obs.desired, wait_between_removals=wait), last_removal=last)
    part = limit_releases(derive(observed, NOW), StepResult(actions=(OTHER, *RELEASES)))
    assert [x.member for x in part.actions if isinstance(x, a.Release)] == releases
    assert OTHER in part.actions
    assert {w.subject for w in part.waits} == {"hot-0", "hot-1"} - set(releases)


@pytest.mark.parametrize("pool", [managers(2, "hot"), gateway(2, "hot")])
def test_members_whose_loss_the_database_does_not_notice_leave_together(pool: PoolSpec) -> None:
    base = facts_of([pool], [])
    observed = replace(base.obs, desired=replace(base.obs.desired, wait_between_removals=WAIT), last_removal=NOW)
    part = limit_releases(derive(observed, NOW), StepResult(actions=RELEASES))
    assert len(part.actions) == (0 if pool.voting else 2)


def test_without_a_wait_members_leave_as_soon_as_they_may() -> None:
    world = leaving().run(900)
    assert len(released(world)) == 3
    assert min(pauses(world)) < WAIT


def test_a_member_that_is_released_in_one_plan_with_others_goes_alone() -> None:
    world = leaving(wait_between_removals=WAIT)
    for _ in range(400):
        made = world.tick()
        going = [x.member for x in made.actions if isinstance(x, a.Release)]
        assert len(going) <= 1
    assert len(released(world)) == 3


def test_an_operator_that_died_before_it_wrote_the_status_knows_of_the_one_that_it_released() -> None:
    world = leaving(wait_between_removals=WAIT)
    before = world.status
    while not released(world):
        before = world.status
        world.tick()
    world.status = before
    world.until(lambda w: len(released(w)) == 2, limit=400)
    assert pauses(world)[0] >= WAIT
    world.run(900)


def test_members_that_never_held_anything_wait_for_no_member() -> None:
    world = settled(managers(), hot(3), wait_between_removals=WAIT)
    world.edit(unprovided={"misspelt"}, pools=[managers(), hot(3, storage_class="misspelt")]).ticks(10)
    world.edit(pools=[managers(), hot(3)]).run()
    assert "RemovalPaced" not in {w.reason for w in world.plan().waits}
    assert not world.status.last_removal_time


def test_a_database_that_bears_one_failure_gives_up_one_member() -> None:
    world = settled(managers(), hot(5), indices=((3,), (3,)))
    world.edit(policy={"replacement": Replacement(undrained=frozenset({"c-hot-0", "c-hot-1"}))})
    world.until(lambda w: any(isinstance(action, a.Release) for action in w.plan().actions))
    seen = world.observe()
    assert isinstance(seen.database, Database)
    lossy, paced = "WouldLoseLastCopy", "RemovalPaced"
    seen = replace(seen, waits={f"c-hot-{ordinal} {paced}": world.now - COUNTED for ordinal in (0, 1)})
    for tolerance, released, waits in ((0, 0, [lossy, lossy]), (1, 1, [lossy]), (2, 1, [paced])):
        made = plan(replace(seen, database=replace(seen.database, tolerance=tolerance)), world.now)
        assert sum(isinstance(action, a.Release) for action in made.actions) == released
        assert [wait.reason for wait in made.waits if wait.subject.startswith("c-hot-")] == waits


LEAVES = a.Release(why="x", member="hot-2", workload=Ref("hot-2", "u", "1"))


def beside_loss(tolerance: int | None = 1, known: Mapping[str, object] = {}, *, undrained: bool = True) -> Facts:
    """Return a pool of three of which the last one leaves, without draining or not; `known` is of the observation.

    Unless that says otherwise, the database has long allowed it.
    """
    lost = "hot-0" if "away" in known or "stopped" in known else ""
    seen = replace(facts_of([hot(3)], [], down=lost).obs, waits={"hot-2 RemovalPaced": NOW - COUNTED})
    assert isinstance(seen.database, Database)
    policy = replace(seen.desired.replacement, undrained=frozenset({"hot-2"} if undrained else ()))
    desired = replace(seen.desired, replacement=policy, wait_between_removals=5.0, formed_by_word=True)
    database = replace(seen.database, tolerance=tolerance, maintenance=str(known.get("maintenance", "")))
    rest = {name: value for name, value in known.items() if name != "maintenance"}
    return derive(replace(seen, desired=desired, database=database, **rest), NOW)


@pytest.mark.parametrize(("tolerance", "undrained", "leaves"), [(1, True, False), (None, True, True), (1, False, True)])
def test_the_next_member_leaves_without_draining_when_the_database_counts_the_last_one(
    tolerance: int | None, *, undrained: bool, leaves: bool
) -> None:
    """FoundationDB counts no loss for a minute: all storage members of it left within that, with all data."""
    facts = beside_loss(tolerance, {"last_removal": NOW - 10.0}, undrained=undrained)
    assert bool(limit_releases(facts, StepResult(actions=(LEAVES,))).actions) == leaves


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"away": {"hot-0": NOW - 10.0}}, f"counts it no earlier than {rfc3339(NOW + COUNTED - 10.0)}"),
        ({"away": {"hot-0": NOW - COUNTED}}, ""),
        ({"away": {}}, f"counts it no earlier than {rfc3339(NOW + COUNTED)}"),
        ({"stopped": frozenset({"hot-0"}), "since": {"hot-0": NOW - 10.0}}, "counts it no earlier than"),
        ({"stopped": frozenset({"hot-0"}), "since": {"hot-0": NOW - COUNTED}}, ""),
        ({"stopped": frozenset({"hot-0"}), "since": {}}, f"counts it no earlier than {rfc3339(NOW + COUNTED)}"),
        ({"away": {"hot-0": NOW - 900.0}, "maintenance": "z"}, "counts it after the maintenance of its zone"),
        ({"away": {"hot-0": NOW - 900.0}, "maintenance_end": inf}, f"no earlier than {rfc3339(NOW + COUNTED)}"),
        ({"away": {"hot-0": NOW - 900.0}, "maintenance_end": NOW - 60.0}, f"no earlier than {rfc3339(NOW + 60.0)}"),
        ({"away": {"hot-0": NOW - 900.0}, "maintenance_end": NOW - COUNTED}, ""),
        ({"maintenance": "z"}, ""),
        ({"maintenance": "z", "last_removal": NOW - 900.0}, "counts it after the maintenance of its zone"),
        ({"maintenance_end": NOW - 60.0, "last_removal": NOW - 900.0}, f"no earlier than {rfc3339(NOW + 60.0)}"),
        ({"maintenance_end": NOW - COUNTED, "last_removal": NOW - 900.0}, ""),
        ({"waits": {}}, f"has allowed the loss of hot-2 since {rfc3339(NOW)}"),
        ({"waits": {"hot-2 WouldLoseLastCopy": NOW - 900.0}}, f"has allowed the loss of hot-2 since {rfc3339(NOW)}"),
        ({"waits": {"hot-1 RemovalPaced": NOW - COUNTED}}, f"has allowed the loss of hot-2 since {rfc3339(NOW)}"),
        ({"waits": {"hot-2 RemovalPaced": NOW - 50.0}}, f"has allowed the loss of hot-2 since {rfc3339(NOW - 50.0)}"),
    ],
)
def test_a_member_leaves_without_draining_when_the_database_counts_all_other_losses(
    known: dict[str, object], text: str
) -> None:
    """FoundationDB had lost a storage server for ten seconds: the one with its other copies left without draining."""
    part = limit_releases(beside_loss(known=known), StepResult(actions=(LEAVES,)))
    assert bool(part.actions) == (not text)
    assert [text in wait.message for wait in part.waits] == [True] * bool(text)
    assert not any(wait.stalled for wait in part.waits)


@pytest.mark.parametrize("excuse", ["it never joined", "it holds no data", "the database lists it"])
def test_the_loss_of_a_member_is_not_waited_for_if_the_database_need_not_count_it(excuse: str) -> None:
    seen = beside_loss(known={"away": {"hot-0": NOW}}).obs
    assert isinstance(seen.database, Database)
    if excuse == "it never joined":
        seen = replace(seen, records={n: record for n, record in seen.records.items() if n != "hot-0"})
    elif excuse == "it holds no data":
        pools = tuple(replace(pool, data=False) for pool in seen.desired.pools)
        members = tuple(replace(m, made_for=frozenset()) for m in seen.members)
        seen = replace(seen, desired=replace(seen.desired, pools=pools), members=members)
    else:
        node = replace(seen.database.nodes["hot-1"], name="hot-0")
        seen = replace(seen, database=replace(seen.database, nodes={**seen.database.nodes, "hot-0": node}))
    assert limit_releases(derive(seen, NOW), StepResult(actions=(LEAVES,))).actions == (LEAVES,)


@pytest.mark.parametrize(("lost", "leaves"), [("volume", False), ("pod", True), ("all", False), ("", True)])
def test_the_loss_of_data_is_waited_for_also_if_its_member_serves_again_or_is_forgotten(
    lost: str, *, leaves: bool
) -> None:
    """A user deletes the claim of a member. Seconds later it serves with an empty volume, and the loss counts nowhere.

    The next status remembers it, because the record of the old volume is gone then. Only stateless members are without.
    """
    seen = beside_loss().obs
    kept = {m.name: Record("1", volume=f"data-{m.name}") for m in seen.members}
    members = tuple(
        replace(m, claim=Claim(Ref(f"data-{m.name}", f"data-{m.name}", "1"), 1, 1, "standard")) for m in seen.members
    )
    if lost == "pod":
        members = tuple(replace(m, claim=None, pod=m.pod and replace(m.pod, claims=False)) for m in members)
        kept = {m.name: Record("1", pod="p-before" if m.name == "hot-0" else m.pod.ref.uid) for m in members if m.pod}
    elif lost == "volume":
        kept["hot-0"] = Record("1", volume="before")
    elif lost == "all":
        kept["hot-9"] = Record("1", volume="before")
    seen = replace(seen, members=members, records=kept)
    part = limit_releases(derive(seen, NOW), StepResult(actions=(LEAVES,)))
    assert bool(part.actions) == leaves
    assert status(seen, plan(seen, NOW), ClusterStatus(), NOW).last_removal_time == ("" if leaves else rfc3339(NOW))


@pytest.mark.parametrize("accepted", [False, True])
def test_a_member_that_was_lost_a_moment_ago_leaves_when_the_database_tells_what_is_missing(*, accepted: bool) -> None:
    """With one copy of everything it was replaced at once, and its volume deleted: no user had accepted the loss."""
    seen = beside_loss().obs
    assert isinstance(seen.database, Database)
    nodes = {name: node for name, node in seen.database.nodes.items() if name != "hot-2"}
    policy = replace(seen.desired.replacement, accepted=frozenset({"hot-2"} if accepted else ()))
    seen = replace(seen, database=replace(seen.database, nodes=nodes, tolerance=0), away={"hot-2": NOW - 5.0})
    seen = replace(seen, desired=replace(seen.desired, replacement=policy))
    part = limit_releases(derive(seen, NOW), StepResult(actions=(LEAVES,)))
    assert part.actions == ((LEAVES,) if accepted else ())


def without_processes(seen: Observation, there: str = "none") -> Observation:
    """Return a cluster of whose last member all, some or no processes are in the database."""
    assert isinstance(seen.database, Database)
    nodes = {name: node for name, node in seen.database.nodes.items() if name != "hot-2" or there == "all"}
    partial = {"hot-2": "1"} if there == "some" else {}
    away = {"hot-2": NOW - 900.0, **seen.away}
    return replace(seen, database=replace(seen.database, nodes=nodes, partial=partial), away=away)


@pytest.mark.parametrize("there", ["all", "some", "none"])
@pytest.mark.parametrize(
    ("since", "tolerance", "leaves"), [(None, 1, False), (50.0, 1, False), (COUNTED, 1, True), (None, None, True)]
)
def test_a_drained_member_without_all_processes_leaves_when_the_database_would_count_its_data(
    since: float | None, tolerance: int | None, there: str, *, leaves: bool
) -> None:
    """It was proved empty by the address of an earlier pod: the database knows of data at its last address only."""
    seen = without_processes(beside_loss(tolerance, undrained=False).obs, there)
    waits = {} if since is None else {"hot-2 RemovalPaced": NOW - since}
    part = limit_releases(derive(replace(seen, waits=waits), NOW), StepResult(actions=(LEAVES,)))
    assert bool(part.actions) == (leaves or there == "all")


@pytest.mark.parametrize(
    ("known", "leaves"),
    [
        ({}, True),
        ({"away": {"hot-0": NOW, "hot-2": NOW - COUNTED}}, True),
        ({"away": {"hot-2": NOW - 5.0}}, False),
        ({"maintenance": "z"}, False),
        ({"maintenance_end": NOW - 60.0}, False),
        ({"last_removal": NOW - 60.0}, True),
        ({"records": {}}, True),
    ],
)
@pytest.mark.parametrize("pause", [5.0, 0.0])
def test_a_drained_member_without_processes_waits_for_its_own_loss_only(
    pause: float, known: dict[str, object], *, leaves: bool
) -> None:
    """Another member that stops and starts every minute would keep it without a limit."""
    seen = without_processes(beside_loss(known=known, undrained=False).obs)
    seen = replace(seen, desired=replace(seen.desired, wait_between_removals=pause))
    part = limit_releases(derive(seen, NOW), StepResult(actions=(LEAVES,)))
    assert bool(part.actions) == leaves


@pytest.mark.parametrize(("last", "leaves"), [(None, True), (NOW - 5.0, True), (NOW - 4.0, False)])
def test_the_pod_of_a_deleted_stateful_set_ends_with_the_same_pause(last: float | None, *, leaves: bool) -> None:
    """While the pod runs, its member has not left: it would postpone its own end in every round."""
    seen = beside_loss(known={"last_removal": last}, undrained=False).obs
    seen = replace(seen, members=tuple(replace(m, workload=None) if m.name == "hot-2" else m for m in seen.members))
    ends = a.DeletePod(why="x", member="hot-2", pod=Ref("hot-2-0", "u", "1"))
    part = limit_releases(derive(seen, NOW), StepResult(actions=(ends,)))
    assert part.actions == ((ends,) if leaves else ())
    assert [wait.reason for wait in part.waits] == ([] if leaves else ["RemovalPaced"])


def test_a_drained_member_does_not_wait_for_what_one_without_draining_waits_for() -> None:
    seen = beside_loss(known={"away": {"hot-0": NOW}}).obs
    drained = a.Release(why="x", member="hot-1", workload=Ref("hot-1", "u", "1"))
    part = limit_releases(derive(seen, NOW), StepResult(actions=(LEAVES, drained)))
    assert part.actions == (drained,)
    assert [wait.subject for wait in part.waits] == ["hot-2"]


@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        ("z", None, inf),
        ("z", NOW - 9.0, inf),
        ("", None, None),
        ("", inf, NOW),
        ("", NOW - 9.0, NOW - 9.0),
        (None, None, None),
        (None, inf, inf),
    ],
)
def test_the_end_of_a_maintenance_is_when_the_database_first_reports_none(
    zone: str | None, before: float | None, after: float | None
) -> None:
    seen = beside_loss(known={"maintenance": zone or "", "maintenance_end": before}).obs
    database = seen.database if zone is not None else Unknown("it does not answer")
    assert maintenance_end(derive(replace(seen, database=database), NOW)) == after
