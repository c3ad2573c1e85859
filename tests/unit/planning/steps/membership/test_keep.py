"""A member in `members.keep` never leaves: a contradicting field of the spec is reported as a conflict."""

import pytest

from stateward.planning.model import actions as a
from tests.unit.planning.steps.membership.test_replacement import cluster, told, wishes
from tests.unit.planning.world import World, hot, managers

KEPT = frozenset({"c-hot-0", "c-hot-1", "c-hot-3"})


def stays(world: World) -> None:
    """Assert that no kept member is leaving, now and later."""
    world.ticks(30)
    assert world.pods().keys() >= KEPT
    assert not world.did(a.RecordRemoval)
    assert not KEPT & {removal.name for removal in world.status.pending_removals}
    assert not KEPT & world.draining


def test_a_shrink_takes_no_member_that_is_kept() -> None:
    world = cluster().edit(policy=wishes(keep=KEPT), pools=[managers(), hot(2)])
    stays(world)
    assert "c-hot-2" not in world.pods()
    assert "pool hot shrinks to 2" in told(world, "KeepConflict")
    world.edit(policy=wishes()).run()
    assert {n for n in world.pods() if "hot" in n} == {"c-hot-0", "c-hot-1"}


def test_a_pool_that_is_taken_out_of_the_spec_leaves_those_that_are_kept() -> None:
    world = cluster().edit(policy=wishes(keep=KEPT), pools=[managers(), hot(4, name="warm")])
    stays(world)
    assert "c-hot-2" not in world.pods()
    assert "pool hot is no longer wanted" in told(world, "KeepConflict")
    world.edit(policy=wishes()).run()
    assert not [n for n in world.pods() if "hot" in n]


@pytest.mark.parametrize("back", [False, True])
def test_what_only_a_new_member_can_have_waits_for_the_conflict_to_end(*, back: bool) -> None:
    other = [managers(), hot(4, storage_class="fast")]
    world = cluster().edit(policy=wishes(keep=KEPT), pools=other)
    stays(world)
    assert "c-hot-2" not in world.pods()
    assert "it is kept" in told(world, "KeepConflict")
    assert told(world, "ReplacedLater") == ""
    world.edit(**({"pools": [managers(), hot(4)]} if back else {}), policy=wishes()).run()
    assert len([n for n in world.pods() if "hot" in n]) == 4
