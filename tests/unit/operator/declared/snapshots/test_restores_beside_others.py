"""Restores while other clients delete, make and open the same indices, or another restore does not get on."""

import asyncio

import msgspec
import pytest

from stateward.engines.connection.base import Answer
from stateward.simulation.opensearch.snapshots import ModelIndex
from tests.unit.operator.declared.snapshots.test_restores import CREATED, documents, saved, world_with
from tests.unit.operator.declared.world import World

BUSY = Answer(503, msgspec.json.encode({"error": {"reason": "no cluster manager"}}))
REFUSED = Answer(500, msgspec.json.encode({"error": {"reason": "cannot restore index [logs-1] with [3] shards"}}))
RESTORE = "/_snapshot/files/nightly/_restore"


def replacing() -> World:
    world = world_with(saved(logs_1=3, logs_2=3), existing="Replace")
    for name in ("logs-1", "logs-2"):
        world.database.snapshots.add_index(name, 7)
    return world


async def test_an_index_that_another_client_makes_in_the_place_of_a_restored_one_is_not_reported_as_restored() -> None:
    world = world_with(saved(logs_1=3, logs_2=3))
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Restoring")
        del world.database.snapshots.indices["logs-1"]
        world.database.snapshots.add_index("logs-1", 1)
        await world.until(lambda: world.stalled() == "IndicesExist")
        await asyncio.sleep(3600)
    assert world.stalled() == "IndicesExist"
    assert "documents" not in world.status()


async def test_an_index_in_the_place_of_a_replaced_one_is_not_reported_as_restored() -> None:
    world = replacing()
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Restoring")
        del world.database.snapshots.indices["logs-1"]
        world.database.snapshots.add_index("logs-1", 1)
        await world.until(lambda: world.stalled() == "IndicesExist")


async def test_a_data_stream_that_rolls_over_while_it_is_restored_is_restored() -> None:
    snapshot = saved()
    snapshot.indices[".ds-events-000001"] = ModelIndex(4, CREATED, stream="events")
    world = world_with(snapshot)
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Restoring")
        world.database.snapshots.add_index(".ds-events-000002", 1, stream="events")
        await world.until(world.is_ready)
    assert world.status()["documents"] == 5


async def test_what_was_closed_is_opened_again_if_another_client_opens_some_of_it_before_the_restore() -> None:
    """The disaster this prevents: nothing is restored, and the other indices stay closed."""
    world = replacing()
    world.database.refusals[RESTORE] = BUSY
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Starting")
        world.database.snapshots.indices["logs-1"].open = True
        world.database.refusals.clear()
        await world.until(lambda: world.stalled() == "RestoreRefused")
        await asyncio.sleep(3600)
    assert all(each.open for each in world.database.snapshots.indices.values())
    assert "open again: logs-2" in world.status()["activity"]
    assert documents(world) == {"logs-1": 7, "logs-2": 7}


async def test_what_was_closed_is_opened_again_if_only_some_of_it_could_be_opened_after_a_refusal() -> None:
    world = replacing()
    world.database.refusals |= {RESTORE: REFUSED, "/logs-1,logs-2/_open": BUSY}
    async with world.operator():
        await world.until(lambda: any(call.path.endswith("/_open") for call in world.database.writes))
        world.database.snapshots.indices["logs-1"].open = True
        await world.until(lambda: world.stalled() == "RestoreRefused")
    assert all(each.open for each in world.database.snapshots.indices.values())


async def test_a_restore_that_stalls_has_to_be_deleted_before_another_one_of_its_indices() -> None:
    world = world_with(saved(logs_1=3))
    world.database.snapshots.breaks = True
    async with world.operator():
        await world.until(lambda: world.stalled() == "RestoreFailed")
        world.database.snapshots.breaks = False
        del world.database.snapshots.indices["logs-1"]
        await world.until(lambda: world.stalled() == "IndicesMissing")
        assert "delete this SearchRestore" in world.status()["activity"]
        world.declare("two", repository="files", snapshot="nightly")
        await world.until(lambda: world.stalled("two") == "IndicesBusy")
        assert "delete it first" in world.status("two")["activity"]
        world.delete()
        await world.until(lambda: world.is_ready("two"))
    assert documents(world) == {"logs-1": 3}


@pytest.mark.parametrize("phase", ["Closing", "Starting"])
async def test_what_was_closed_is_opened_again_if_the_resource_is_deleted_before_the_restore(phase: str) -> None:
    """The disaster this prevents: the indices stay closed, and nothing says so any longer."""
    world = replacing()
    world.database.refusals[RESTORE if phase == "Starting" else "/logs-1,logs-2/_close"] = BUSY
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == phase)
        world.database.snapshots.indices["logs-1"].open = False
        world.reachable = False
        world.delete()
        await asyncio.sleep(60)
        assert "cannot be opened again" in world.status()["activity"]
    async with world.operator():  # The next process knows it too.
        world.reachable = True
        await world.until(lambda: not world.exists())
    assert all(each.open for each in world.database.snapshots.indices.values())
    assert documents(world) == {"logs-1": 7, "logs-2": 7}


async def test_a_deleted_resource_neither_stops_nor_waits_for_a_restore_that_has_begun() -> None:
    world = replacing()
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Restoring")
        world.reachable = False
        world.delete()
        await world.until(lambda: not world.exists())
    assert not [call for call in world.database.writes if call.path.endswith("/_open")]


async def test_nothing_is_opened_in_a_database_that_has_taken_the_place_of_the_one_of_the_restore() -> None:
    world = replacing()
    world.database.refusals[RESTORE] = BUSY
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Starting")
        world.reachable = False
        world.change_status("clusterUUID", "another")
        world.delete()
        await asyncio.sleep(30)
        world.reachable = True
        await world.until(lambda: not world.exists())
    assert not [call for call in world.database.writes if call.path.endswith("/_open")]
