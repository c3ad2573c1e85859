"""Where the data of members that leave can go: to those that remain, and no more copies than they can have."""

import pytest

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.safety.capacity import units_to_move
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
