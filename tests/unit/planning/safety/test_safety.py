"""The remaining live copies, and when a member may be given up: each guard alone, on one observation."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import Facts, derive
from stateward.planning.facts.missing_members import Cause, Missing
from stateward.planning.facts.removals import active_removals
from stateward.planning.model import observation as o
from stateward.planning.safety.availability import absent_voters, copies_needed, sole_units
from stateward.planning.safety.capacity import disk_problem
from stateward.planning.safety.sole_copies import is_only_data_member, sole_verdict
from stateward.planning.steps.membership.decommission import hidden_data
from stateward.planning.steps.membership.earlier_cluster import changed_volume, everything_lost
from stateward.planning.steps.membership.kept_volumes import is_abandoned
from stateward.planning.steps.membership.release import volume_to_delete
from stateward.planning.steps.membership.replacement import entry, limits, problems
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import hot, managers
from tests.unit.planning.safety.test_choice import chosen, facts_of

GONE = Missing(Cause.NODE_NOT_READY, "its machine is gone")
COMING = o.Unit("coming[0]", 2, (o.Copy(o.CopyState.STARTED, True, "hot-0"), o.Copy(o.CopyState.INITIALIZING)))
LOST = o.Unit("lost[0]", 1, (o.Copy(o.CopyState.UNASSIGNED, in_sync=False),))


def again(facts: Facts, edit: Callable[[o.Observation], o.Observation]) -> Facts:
    return derive(edit(facts.obs), NOW)


def with_live_copies(facts: Facts, most: int) -> Facts:
    return again(facts, lambda obs: replace(obs, desired=replace(obs.desired, min_live_copies=most)))


def with_database(facts: Facts, *units: o.Unit, **more: object) -> Facts:
    database = facts.database
    assert database is not None
    changed = replace(database, units=(*database.units, *units), **more)
    return again(facts, lambda obs: replace(obs, database=changed))


def reasons(facts: Facts, name: str = "hot-3") -> list[str]:
    return list(problems(facts, facts.members[name], GONE, {}))


# Copies that stay


def test_a_unit_is_never_asked_to_keep_more_copies_than_all_but_one() -> None:
    """Where as many have to stay as it has, no member with a copy could ever be changed."""
    facts = with_live_copies(facts_of([hot(4)], [("hot-0", "hot-1"), ("hot-1", "hot-2", "hot-3")]), 5)
    assert facts.database is not None
    assert [copies_needed(facts, unit) for unit in facts.database.units] == [1, 2]
    assert len(chosen(facts)) == 2


def test_as_many_copies_stay_as_are_requested_where_the_unit_has_them() -> None:
    facts = facts_of([hot(3)], [("hot-0", "hot-1", "hot-2")])
    assert len(chosen(with_live_copies(facts, 1))) == 2
    assert len(chosen(with_live_copies(facts, 2))) == 1


def test_the_one_copy_of_a_unit_is_needed() -> None:
    facts = facts_of([hot(2)], [("hot-0",)])
    assert [unit.name for unit in sole_units(facts, "hot-0")] == ["u0"]
    assert not sole_units(facts, "hot-1")


# Members that may be given up


def test_a_member_holds_what_is_lost_though_it_serves_and_holds_nothing_that_is_known() -> None:
    whole = facts_of([hot(3)], [("hot-0", "hot-1")])
    assert hidden_data(whole, whole.members["hot-2"]) is None
    red = with_database(whole, LOST)
    for name in ("hot-0", "hot-2"):
        assert "may hold the last one" in (hidden_data(red, red.members[name]) or "")


def test_a_member_with_a_kept_volume_holds_lost_data_though_it_is_unknown_whether_it_ever_joined() -> None:
    """A cluster that was deleted and created again has forgotten its members, and their volumes have not."""
    red = with_database(facts_of([hot(4)], [("hot-0", "hot-1")], down="hot-3"), LOST)
    forgotten = again(red, lambda obs: replace(obs, records={}))
    assert "may hold the last one" in (hidden_data(forgotten, forgotten.members["hot-3"]) or "")

    def unbound(member: o.Member) -> o.Member:
        claim = member.claim
        return replace(member, claim=claim and replace(claim, capacity=0)) if member.name == "hot-3" else member

    new = again(forgotten, lambda obs: replace(obs, members=tuple(map(unbound, obs.members))))
    assert hidden_data(new, new.members["hot-3"]) is None


def test_a_member_that_is_down_stays_until_the_database_is_healthy_and_one_that_serves_does_not() -> None:
    """What it has on its volume may be newer than what is being recovered elsewhere."""
    whole = facts_of([hot(4)], [("hot-0", "hot-1")], down="hot-3")
    assert hidden_data(whole, whole.members["hot-3"]) is None
    healing = with_database(whole, COMING)
    assert "is being recovered" in (hidden_data(healing, healing.members["hot-3"]) or "")
    assert hidden_data(healing, healing.members["hot-2"]) is None


def test_a_failed_member_is_replaced_where_nothing_speaks_against_it() -> None:
    assert reasons(facts_of([hot(4)], [("hot-0", "hot-1")], down="hot-3")) == []


@pytest.mark.parametrize("tolerance", [0, -1])
def test_no_member_is_replaced_while_the_database_can_bear_no_further_failure(tolerance: int) -> None:
    facts = facts_of([hot(4)], [("hot-0", "hot-1")], down="hot-3")
    assert reasons(with_database(facts, tolerance=1)) == []
    (why,) = reasons(with_database(facts, tolerance=tolerance))
    assert "tolerates no further failure" in why


def test_no_member_is_replaced_while_the_database_heals() -> None:
    facts = with_database(facts_of([hot(4)], [("hot-0", "hot-1")], down="hot-3"), COMING)
    (why,) = reasons(facts)
    assert "is being recovered" in why


def test_no_member_is_replaced_that_may_hold_the_last_copy_of_a_shard() -> None:
    facts = with_database(facts_of([hot(4)], [("hot-0", "hot-1")], down="hot-3"), LOST)
    assert "may hold the last one" in reasons(facts)[0]


def test_a_volume_is_not_called_left_while_something_is_lost() -> None:
    """The cluster that is made again would pass by the only volume that has it."""

    def let_go(obs: o.Observation) -> o.Observation:
        member = next(m for m in obs.members if m.name == "hot-3")
        gone = replace(member, workload=None, pod=None)
        return replace(obs, members=tuple(gone if m is member else m for m in obs.members))

    facts = again(facts_of([hot(4)], [("hot-0", "hot-1")], down="hot-3"), let_go)
    assert is_abandoned(facts, facts.members["hot-3"])
    red = with_database(facts, LOST)
    assert not is_abandoned(red, red.members["hot-3"])


# Volumes are identified by their UIDs


def listed(obs: o.Observation, volume: str) -> o.Observation:
    """Have a member on the list of those that are replaced, of which only a volume is left."""
    member = next(m for m in obs.members if m.name == "hot-3")
    left = replace(member, workload=None, pod=None)
    removals = {"hot-3": o.Removal("its machine is gone", NOW, automatic=True, volume=volume)}
    return replace(obs, removals=removals, members=tuple(left if m is member else m for m in obs.members))


@pytest.mark.parametrize(("volume", "obeys"), [("hot-3", True), ("", True), ("of-the-one-before", False)])
def test_a_replacement_is_over_when_the_volume_under_its_name_is_another_one(volume: str, *, obeys: bool) -> None:
    facts = facts_of([hot(4)], [("hot-0", "hot-1")], down="hot-3")
    assert ("hot-3" in active_removals(listed(facts.obs, volume))) is obeys


def test_what_is_written_down_of_a_replacement_names_the_volume() -> None:
    facts = facts_of([hot(4)], [("hot-0", "hot-1")], down="hot-3")
    assert entry(facts, facts.members["hot-3"], "x").volume == "hot-3"


@pytest.mark.parametrize(("recorded", "changed"), [("managers-0", False), ("", False), ("of-the-one-before", True)])
def test_a_manager_has_lost_its_volume_when_the_one_it_joined_with_was_another(recorded: str, *, changed: bool) -> None:
    """A status without recorded volumes proves no loss, so no confirmation is required."""
    facts = facts_of([managers(1)], [])
    record = {"managers-0": o.Record("1.0.0", volume=recorded)}
    facts = again(facts, lambda obs: replace(obs, records=record))
    assert changed_volume(facts, facts.members["managers-0"]) is changed
    assert everything_lost(facts) is changed


def test_a_volume_that_is_being_deleted_is_not_deleted_again() -> None:
    facts = facts_of([managers(1), hot(2)], [])
    facts = replace(facts, obs=replace(facts.obs, desired=replace(facts.obs.desired, delete_volumes=True)))
    member = facts.members["hot-0"]
    assert member.claim is not None
    assert volume_to_delete(facts, member) == member.claim
    assert volume_to_delete(facts, replace(member, claim=replace(member.claim, terminating=True))) is None


def test_an_only_copy_that_another_member_can_take_does_not_keep_a_member_whose_data_is_in_its_pod() -> None:
    facts = facts_of([managers(1), hot(2)], [("hot-0",)])
    pools = tuple(replace(pool, ephemeral=pool.data) for pool in facts.obs.desired.pools)
    bare = tuple(replace(member, claim=None) for member in facts.obs.members)
    obs = replace(facts.obs, members=bare, desired=replace(facts.obs.desired, pools=pools))
    facts = derive(obs, NOW)
    assert facts.ephemeral(facts.members["hot-0"])
    assert sole_verdict(facts, facts.members["hot-0"]) is None
    alone = derive(
        replace(obs, members=tuple(m for m in bare if m.name != "hot-1"), database=without(obs, "hot-1")), NOW
    )
    assert "loses its data with its pod" in (sole_verdict(alone, alone.members["hot-0"]) or "")


def without(obs: o.Observation, name: str) -> o.Database:
    assert isinstance(obs.database, o.Database)
    return replace(obs.database, nodes={n: node for n, node in obs.database.nodes.items() if n != name})


def test_a_voter_that_joined_and_does_not_serve_is_absent() -> None:
    facts = facts_of([managers(3), hot(1)], [])
    assert not absent_voters(facts)
    unrecorded = {name: record for name, record in facts.obs.records.items() if name != "managers-1"}
    members = tuple(
        replace(m, pod=replace(m.pod, ready=False)) if m.name == "managers-1" and m.pod else m
        for m in facts.obs.members
    )
    facts = derive(replace(facts.obs, members=members, records=unrecorded), NOW)
    assert absent_voters(facts) == {"managers-1"}


def test_disks_of_leaving_members_are_no_room() -> None:
    facts = facts_of([managers(1), hot(2)], [("hot-0",)])
    assert isinstance(facts.obs.database, o.Database)
    nodes = {n: replace(node, disk_total=100, disk_free=100) for n, node in facts.obs.database.nodes.items()}
    (unit,) = facts.obs.database.units
    database, units = replace(facts.obs.database, nodes=nodes), {unit.name: replace(unit, size=60)}
    assert disk_problem(database, frozenset({"hot-0"}), units) is None
    full = replace(database, nodes={**nodes, "hot-1": replace(nodes["hot-1"], disk_free=20)})
    assert disk_problem(full, frozenset({"hot-0"}), units) is not None


def test_replacements_continue_in_one_zone_only_where_zones_are_requested() -> None:
    facts = facts_of([managers(1), hot(4)], [], zones=2)
    removals = {"hot-0": o.Removal(reason="gone", since=0.0, automatic=True)}

    def held(name: str, **policy: object) -> list[str]:
        replacement = replace(facts.obs.desired.replacement, max_concurrent=2, **policy)
        obs = replace(facts.obs, desired=replace(facts.obs.desired, replacement=replacement), removals=removals)
        made = derive(obs, NOW)
        return list(limits(made, made.members[name], removals))

    assert held("hot-1") == []
    assert held("hot-1", per_zone=True) == ["hot-0 is replaced first, in z0"]
    assert held("hot-2", per_zone=True) == []


def test_new_members_that_never_joined_are_replaced_one_at_a_time_beside_those_whose_places_they_were_to_take() -> None:
    facts = facts_of([managers(1), hot(5)], [])
    new = ("hot-3", "hot-4")
    records = {name: record for name, record in facts.obs.records.items() if name not in new}
    database = facts.obs.database
    for name in new:
        database = without(replace(facts.obs, database=database), name)
    members = tuple(
        replace(m, pod=replace(m.pod, ready=False)) if m.name in new and m.pod else m for m in facts.obs.members
    )
    obs = replace(facts.obs, members=members, records=records, database=database, slots=0)

    def held(name: str, *removed: str) -> list[str]:
        removals = {name: o.Removal(reason="gone", since=0.0, automatic=True) for name in removed}
        made = derive(replace(obs, removals=removals), NOW)
        return list(limits(made, made.members[name], removals))

    assert held("hot-3", "hot-0") == []
    assert held("hot-3", "hot-0", "hot-4") == ["hot-4 is replaced first"]
    assert held("hot-1", "hot-4")[0] == "hot-4 is replaced first"


def test_a_kept_volume_is_no_member_that_could_take_data_and_a_member_that_is_down_is_one() -> None:
    facts = facts_of([hot(2)], [("hot-0",)], down="hot-1")
    assert not is_only_data_member(facts, facts.members["hot-0"])
    volume = replace(facts.members["hot-1"], workload=None)
    kept = again(facts, lambda obs: replace(obs, members=(facts.members["hot-0"], volume)))
    assert is_only_data_member(kept, kept.members["hot-0"])
