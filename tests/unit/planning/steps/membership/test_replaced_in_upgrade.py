"""Members that are replaced while an upgrade runs: a shard on an upgraded one can only move to another upgraded one."""

from stateward.planning.model import observation as o
from tests.unit.planning.world import World, gateway, hot, mixed, settled


def test_beside_an_upgraded_member_that_loses_its_data_one_is_replaced_whose_successor_can_take_it() -> None:
    """The disaster this prevents: the first waits for a place for its data, and the others for the first."""
    world: World = settled(mixed(3), hot(1), indices=((1,),) * 4, sole_copy=o.SoleCopy.INTERRUPT)
    world.edit(version="2.18.0").until(lambda w: w.pods().get("c-hot-0") == "2.18.0")
    world.edit(pools=[mixed(3, config={"storage/x": "1"}), gateway(1, "hot")]).run()
    assert set(world.pods().values()) == {"2.18.0"}
