"""Members that are replaced while an upgrade runs: a shard on an upgraded one can only move to another upgraded one."""

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from tests.unit.planning.world import World, gateway, hot, managers, mixed, settled


def test_beside_an_upgraded_member_that_loses_its_data_one_is_replaced_whose_successor_can_take_it() -> None:
    """The disaster this prevents: the first waits for a place for its data, and the others for the first."""
    world: World = settled(mixed(3), hot(1), indices=((1,),) * 4, sole_copy=o.SoleCopy.INTERRUPT)
    world.edit(version="2.18.0").until(lambda w: w.pods().get("c-hot-0") == "2.18.0")
    world.edit(pools=[mixed(3, config={"storage/x": "1"}), gateway(1, "hot")]).run()
    assert set(world.pods().values()) == {"2.18.0"}


def test_members_that_an_upgrade_has_not_reached_are_replaced_first() -> None:
    """The disaster this prevents: the upgraded one leaves without a successor, and no other may take its data."""
    world: World = settled(managers(), hot(3), indices=((1,),) * 3, sole_copy=o.SoleCopy.INTERRUPT)
    world.edit(version="2.18.0", pools=[managers(), hot(2, config={"storage/x": "1"})])
    body = world.bodies["c-hot-0"]
    for made in (body.pod, body.workload):
        assert made is not None
        made.version, made.inputs = "2.18.0", {**made.inputs, "version": "2.18.0"}
    world.run()
    assert set(world.pods().values()) == {"2.18.0"}
    assert world.did(a.Release) == ["c-hot-1", "c-hot-2", "c-hot-0"]


def test_a_leaving_member_that_a_user_scaled_to_zero_comes_back_with_the_deployed_version() -> None:
    """The disaster this prevents: its data cannot move to an earlier version, and the others wait for a place."""
    world = settled(managers(1), hot(2), indices=((1,), (1,), (1,), (1,)))
    world.edit(version="2.18.0", pools=[managers(1), hot(1)])
    workload = world.bodies["c-hot-1"].workload
    assert workload is not None
    workload.replicas = 0
    world.until(lambda w: bool(w.did(a.Create)))
    (back,) = (action for _, action in world.log if isinstance(action, a.Create))
    assert (back.member, back.version) == ("c-hot-1", "2.17.1")
    world.run()
    assert world.pods() == {"c-managers-0": "2.18.0", "c-hot-0": "2.18.0"}
