"""Closed indices in the way of a restore that is started late: the database would restore over them."""

from stateward.simulation.opensearch.snapshots import ModelIndex
from tests.unit.operator.declared.snapshots.test_restores import documents, saved, world_with
from tests.unit.operator.declared.snapshots.test_restores_beside_others import BUSY, RESTORE, replacing
from tests.unit.operator.declared.world import World


async def closed_in_the_way(world: World) -> None:
    """Another client makes and closes an index while the restore waits for its start, which is then not made."""
    await world.until(lambda: world.status().get("phase") == "Starting")
    world.database.snapshots.add_index("logs-1", 7)
    world.database.snapshots.indices["logs-1"].open = False
    world.database.refusals.clear()
    await world.until(lambda: world.stalled() == "IndicesExist")


async def test_an_index_that_others_make_and_close_before_the_start_is_not_restored_over() -> None:
    """The disaster this prevents: the data of an index is lost that the restore was not allowed to replace."""
    world = world_with(saved(logs_1=3))
    world.database.refusals[RESTORE] = BUSY
    async with world.operator():
        await closed_in_the_way(world)
    assert documents(world) == {"logs-1": 7}


async def test_indices_that_were_restored_written_and_closed_are_not_restored_over_once_more() -> None:
    """The answer to the start was lost with the process, and its successor finds the indices closed."""
    world = replacing()
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Restoring")
    for each in world.database.snapshots.indices.values():
        each.documents, each.open = 9, False
    world.change_status("phase", "Starting")
    async with world.operator():
        await world.until(lambda: world.stalled() == "IndicesExist")
    assert documents(world) == {"logs-1": 9, "logs-2": 9}


async def test_what_was_closed_is_opened_again_if_another_of_the_indices_is_made_again_and_closed() -> None:
    world = replacing()
    world.database.refusals[RESTORE] = BUSY
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Starting")
        world.database.snapshots.indices["logs-1"] = ModelIndex(9, 2_000_000_000_000, False, "another")
        world.database.refusals.clear()
        await world.until(lambda: world.stalled() == "RestoreRefused")
    assert documents(world) == {"logs-1": 9, "logs-2": 7}
    assert [each.open for each in world.database.snapshots.indices.values()] == [False, True]
    assert "logs-1 was made again" in world.status()["activity"]
    assert "open again: logs-2." in world.status()["activity"]


async def test_a_restore_starts_once_the_closed_index_in_its_way_is_gone() -> None:
    world = world_with(saved(logs_1=3))
    world.database.refusals[RESTORE] = BUSY
    async with world.operator():
        await closed_in_the_way(world)
        del world.database.snapshots.indices["logs-1"]
        await world.until(world.is_ready)
    assert documents(world) == {"logs-1": 3}


async def test_a_restore_of_an_index_that_others_delete_before_the_start_is_done() -> None:
    """The disaster this prevents: it is said to be of another client, and to be restored once more."""
    world = replacing()
    world.database.refusals[RESTORE] = BUSY
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Starting")
        del world.database.snapshots.indices["logs-1"]
        world.database.refusals.clear()
        await world.until(world.is_ready)
    assert documents(world) == {"logs-2": 3, "logs-1": 3}
