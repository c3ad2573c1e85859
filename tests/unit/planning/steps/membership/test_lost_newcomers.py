"""New members whose machine is lost before they have joined are replaced; those that only do not start are not."""

from stateward.planning.model import actions as a
from tests.unit.planning.steps.membership.test_replacement import DUE, cluster, fail, missing
from tests.unit.planning.world import World, hot, managers


def new_member_whose_machine_is_lost() -> World:
    """Return a world in which the node of the new member c-hot-3 dies when its pod has started there."""
    world = cluster(3).edit(pools=[managers(), hot(4)])
    while not (body := world.bodies.get("c-hot-3")) or body.pod is None or not body.pod.node:
        world.ticks(1)
    return fail(world, "c-hot-3")


def test_a_new_member_whose_machine_is_lost_before_it_has_joined_is_replaced_too() -> None:
    world = new_member_whose_machine_is_lost().ticks(DUE - 5)
    assert missing(world, "c-hot-3") == "NodeNotReady"
    assert not world.did(a.RecordRemoval)
    world.ticks(40)
    assert world.did(a.RecordRemoval) == ["c-hot-3"]
    assert "c-hot-4" in world.joined()


def test_the_volume_of_a_new_member_on_a_lost_machine_does_not_hold_its_place_forever() -> None:
    world = new_member_whose_machine_is_lost().ticks(5)
    world.bodies["c-hot-3"].pod = None  # It is deleted with its Kubernetes node.
    world.ticks(5)
    assert "Unschedulable" in [body.pod.trouble.split(":")[0] for body in world.bodies.values() if body.pod]
    world.ticks(DUE + 35)
    assert world.did(a.RecordRemoval) == ["c-hot-3"]
    assert "c-hot-4" in world.joined()


def test_a_new_member_that_only_finds_no_room_is_not_replaced() -> None:
    world = cluster(3)
    world.unschedulable.add("c-hot-3")
    world.edit(pools=[managers(), hot(4)]).ticks(DUE + 40)
    assert missing(world, "c-hot-3") == ""
    assert not world.did(a.RecordRemoval)


def test_a_new_member_whose_machine_comes_back_in_time_joins() -> None:
    world = new_member_whose_machine_is_lost().ticks(DUE - 5)
    world.dead_nodes.clear()
    world.run()
    assert not world.did(a.RecordRemoval)
    assert missing(world, "c-hot-3") == ""
