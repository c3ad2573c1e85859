"""Where the data of members that leave can go: to those that remain, and no more copies than they can have."""

import pytest
from msgspec import structs

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.safety.capacity import capacity_problem, disk_problem, units_to_move
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.steps.membership.test_leave import reasons
from tests.unit.planning.world import Index, hot, managers, settled


def test_the_only_data_member_is_replaced_though_an_index_wants_more_copies_than_there_are_members() -> None:
    world = settled(managers(), hot(1), indices=((2,), (1,)))
    world.edit(policy={"replacement": o.Replacement(replace=frozenset({"c-hot-0"}))})
    world.until(lambda w: any(c.member == "c-hot-1" for i in w.indices for c in i.copies))
    world.run()
    assert world.did(a.Release) == ["c-hot-0"]
    assert {c.member for i in world.indices for c in i.copies} == {"c-hot-1"}


def test_the_only_data_member_whose_storage_class_changes_is_replaced_in_the_same_way() -> None:
    world = settled(managers(), hot(1), indices=((2,),))
    world.edit(pools=[managers(), hot(1, storage_class="fast")]).run()
    assert world.did(a.Release) == ["c-hot-0"]


def test_a_shrink_is_refused_also_while_another_member_is_replaced() -> None:
    world = settled(managers(), hot(2), indices=((2,),))
    world.edit(policy={"replacement": o.Replacement(replace=frozenset({"c-hot-0"}))})
    world.until(lambda w: "c-hot-0" in w.draining)
    world.edit(pools=[managers(), hot(1)]).ticks(40)
    assert world.did(a.Release) == ["c-hot-0"]
    assert {c.member for c in world.indices[0].copies} == {"c-hot-1", "c-hot-2"}
    assert "ShrinkRefused" in reasons(world)


def test_a_member_whose_copies_are_all_elsewhere_leaves_only_when_those_are_whole() -> None:
    world = settled(managers(), hot(1), indices=((2,),))
    world.edit(policy={"replacement": o.Replacement(replace=frozenset({"c-hot-0"}))})
    world.until(lambda w: len(w.indices[0].copies) == 2)
    index = world.indices[0]
    assert not all(copy.started for copy in index.copies)
    while not all(copy.started for copy in index.copies):
        assert not world.did(a.Release)
        world.tick()
    world.run()
    assert world.did(a.Release) == ["c-hot-0"]


def test_where_no_member_remains_every_copy_is_still_on_the_one_that_leaves() -> None:
    facts = derive(settled(managers(), hot(1), indices=((2,),)).observe(), 0.0)
    assert [unit.name for unit in units_to_move(facts, "c-hot-0", frozenset())] == ["logs[0]"]


def test_a_copy_that_the_database_gives_up_by_itself_is_waited_for() -> None:
    world = settled(managers(), hot(2)).index(Index("security[0]", 2, flexible=True))
    rest = frozenset({"c-hot-0"})
    assert [unit.name for unit in units_to_move(derive(world.observe(), 0.0), "c-hot-1", rest)] == ["security[0]"]


@pytest.mark.parametrize("wanted", [1, 2])
def test_a_copy_on_its_way_to_a_member_that_leaves_is_waited_for(wanted: int) -> None:
    """It may arrive before the member goes, and where it came from has none any more."""
    world = settled(managers(), hot(3), indices=((wanted,),))
    (index,) = world.indices
    free = {"c-hot-0", "c-hot-1", "c-hot-2"} - {copy.member for copy in index.copies}
    leaving, moving = min(free), index.copies[0]
    rest = frozenset(copy.member for copy in index.copies)
    assert units_to_move(derive(world.observe(), 0.0), leaving, rest) == []
    moving.target = leaving
    assert [unit.name for unit in units_to_move(derive(world.observe(), 0.0), leaving, rest)] == [index.name]


def test_a_tier_keeps_as_many_members_as_its_copies_and_another_tier_does_not_count() -> None:
    """The disaster this prevents: a shrink that no node can finish drains a member forever."""
    world = settled(managers(), hot(2), PoolSpec("warm", 2, data=True, tier=-1)).index((2,))
    seen = world.observe()
    assert isinstance(seen.database, o.Database)
    hot_only = frozenset({"c-hot-0", "c-hot-1"})
    units = tuple(structs.replace(unit, places=hot_only) for unit in seen.database.units)
    facts = derive(structs.replace(seen, database=structs.replace(seen.database, units=units)), world.now)
    leaving = [facts.members["c-hot-1"]]
    problem = capacity_problem(facts, leaving, leaving, frozenset())
    assert problem == "shard logs[0] has 2 copies and only 1 data members that may take it would remain"


def test_a_tier_that_leaves_whole_does_not_wait_for_itself() -> None:
    """The database then chooses the next tier of the index."""
    world = settled(managers(), hot(2), PoolSpec("warm", 2, data=True, tier=-1)).index((1,))
    seen = world.observe()
    assert isinstance(seen.database, o.Database)
    hot_only = frozenset({"c-hot-0", "c-hot-1"})
    units = tuple(structs.replace(unit, places=hot_only) for unit in seen.database.units)
    facts = derive(structs.replace(seen, database=structs.replace(seen.database, units=units)), world.now)
    leaving = [facts.members["c-hot-0"], facts.members["c-hot-1"]]
    assert capacity_problem(facts, leaving, leaving, frozenset()) is None


@pytest.mark.parametrize(("places", "told"), [(None, False), ({"c-hot-0", "c-hot-1"}, True)])
def test_the_free_space_of_another_tier_does_not_count(places: set[str] | None, told: bool) -> None:
    size = 10 * 2**30

    def node(name: str, free: int) -> o.Node:
        return o.Node(name, "2.19.5", data=True, voting=False, disk_total=100 * 2**30, disk_free=free)

    nodes = {"c-hot-0": node("c-hot-0", 16 * 2**30), "c-warm-0": node("c-warm-0", 100 * 2**30)}
    copy = o.Copy(o.CopyState.STARTED, primary=True, member="c-hot-1")
    unit = o.Unit("a[0]", 1, (copy,), size=size, places=None if places is None else frozenset(places))
    database = o.Database(identity="x", health=o.Health.GREEN, nodes=nodes, units=(unit,))
    assert bool(disk_problem(database, frozenset({"c-hot-1"}), {"a[0]": unit})) is told
