"""The life of a snapshot that is taken by hand: started once, followed, and deleted with its resource."""

import asyncio
from typing import Any

import pytest

from stateward.simulation.opensearch.snapshots import ModelSnapshot
from tests.unit.operator.declared.world import World, now


def world_with(*indices: str) -> World:
    world = World(kind="SearchSnapshot")
    world.database.snapshots.repositories["files"] = {}
    for index in indices:
        world.database.snapshots.add_index(index, 3)
    return world


def stored(world: World) -> dict[str, ModelSnapshot]:
    return world.database.snapshots.repositories["files"]


async def test_a_snapshot_is_taken_and_the_status_says_what_is_in_it() -> None:
    world = world_with("logs-1", "logs-2", "orders")
    world.declare(repository="files", indices=["logs-*"])
    async with world.operator():
        await world.until(lambda: world.status().get("state") == "IN_PROGRESS")
        assert world.status()["activity"] == "0 of 2 shards are saved"
        await world.until(world.is_ready)
        before = world.status()
        await world.until(lambda: world.told() == ["SnapshotTaken"], 5)
        (told,) = world.store.all("events.k8s.io/events")
        await asyncio.sleep(7200)
        assert [each.meta["resourceVersion"] for each in world.store.all(told.kind)] == [told.meta["resourceVersion"]]
    assert world.status() == before
    assert len(world.database.writes) == 1
    taken = stored(world)["one"]
    assert list(taken.indices) == ["logs-1", "logs-2"]
    assert taken.metadata["stateward.dev/search-snapshot"] == "prod/one"
    assert (before["sizeBytes"], before["indices"], before["version"]) == (6000, 2, "2.19.3")
    assert before["shards"] == {"total": 2, "successful": 2}
    assert before["startTime"] < before["endTime"]
    assert before["claim"] == "Owned"


async def test_a_failed_snapshot_needs_a_person_and_shows_the_reasons() -> None:
    world = world_with("logs-1")
    world.database.snapshots.fails = "PARTIAL"
    world.declare(repository="files")
    async with world.operator():
        await world.until(lambda: world.stalled() == "SnapshotFailed")
    assert "logs-1[0]: node left" in world.status()["activity"]
    assert world.status()["failures"] == ["logs-1[0]: node left"]
    assert world.status()["shards"]["failed"] == 1


async def test_a_snapshot_of_somebody_else_is_neither_used_nor_deleted() -> None:
    world = world_with("logs-1")
    theirs = {"stateward.dev/search-snapshot": "prod/one", "stateward.dev/uid": "of another cluster"}
    stored(world)["one"] = ModelSnapshot("one", "u", now(), now(), "SUCCESS", theirs, {})
    world.declare(repository="files")
    async with world.operator():
        await world.until(lambda: world.stalled() == "SnapshotExists")
        world.delete()
        await world.until(lambda: not world.exists())
    assert "one" in stored(world)
    assert not world.database.writes


async def test_a_snapshot_that_another_client_has_deleted_is_not_taken_again() -> None:
    world = world_with("logs-1")
    world.declare(repository="files")
    async with world.operator():
        await world.until(world.is_ready)
        del stored(world)["one"]
        await world.until(lambda: world.stalled() == "SnapshotMissing", 7200)
        world.declare(deletionPolicy="Delete")
        world.delete()
        await world.until(lambda: not world.exists())
    assert world.database.snapshots.began == ["one"]
    assert not any(call.path == "/_recovery" for call in world.database.calls), "nothing is restored from what is gone"


@pytest.mark.parametrize(("policy", "left"), [("Delete", False), ("Retain", True), (None, True)])
async def test_the_snapshot_goes_with_its_resource_or_stays(policy: str | None, left: bool) -> None:
    world = world_with("logs-1")
    world.declare(repository="files", snapshot="before-migration", **({"deletionPolicy": policy} if policy else {}))
    async with world.operator():
        await world.until(world.is_ready)
        world.delete()
        await world.until(lambda: not world.exists())
    assert ("before-migration" in stored(world)) is left


async def test_a_resource_whose_snapshot_stays_does_not_wait_for_the_database() -> None:
    world = world_with("logs-1")
    world.declare(repository="files", deletionPolicy="Retain")
    async with world.operator():
        await world.until(world.is_ready)
        world.reachable = False
        world.delete()
        await world.until(lambda: not world.exists(), 60)
    assert "one" in stored(world)


async def test_a_snapshot_is_not_deleted_while_it_is_being_restored() -> None:
    world = world_with("logs-1")
    world.declare(repository="files")
    async with world.operator():
        await world.until(world.is_ready)
        body: dict[str, Any] = {"indices": ["logs-1"], "rename_pattern": "(.+)", "rename_replacement": "x-$1"}
        world.database.snapshots.answer("POST", "/_snapshot/files/one/_restore", {}, body)
        world.declare(deletionPolicy="Delete")
        world.delete()
        await world.until(lambda: "indices are being restored" in world.status().get("activity", ""))
        assert "one" in stored(world)
        await world.until(lambda: not world.exists())
    assert "one" not in stored(world)
    assert [call.method for call in world.database.writes].count("DELETE") == 1


async def test_a_missing_repository_is_told_and_nothing_is_let_go() -> None:
    world = world_with("logs-1")
    world.declare(repository="files", deletionPolicy="Delete")
    async with world.operator():
        await world.until(world.is_ready)
        kept = world.database.snapshots.repositories.pop("files")
        world.delete()
        await world.until(lambda: "[files] missing" in world.status().get("activity", ""))
        await asyncio.sleep(600)
        assert world.exists()
        world.database.snapshots.repositories["files"] = kept
        await world.until(lambda: not world.exists())
    assert not kept


async def test_what_the_database_refuses_is_shown_and_tried_again() -> None:
    world = world_with("logs-1")
    world.declare(repository="files", indices=["missing"])
    async with world.operator():
        await world.until(lambda: world.stalled() == "Refused")
        assert "no such index [missing]" in world.status()["activity"]
        world.database.snapshots.add_index("missing", 1)
        await world.until(world.is_ready)


async def test_a_snapshot_is_taken_while_nodes_run_several_versions_and_not_deleted_then() -> None:
    world = world_with("logs-1")
    world.database.versions = ["2.19.3", "3.1.0"]
    world.declare(repository="files", deletionPolicy="Delete")
    async with world.operator():
        await world.until(world.is_ready)
        world.delete()
        await world.until(lambda: world.stalled() == "" and "nodes run" in world.status().get("activity", ""))
        assert "one" in stored(world)
        world.database.versions = ["3.1.0"]
        await world.until(lambda: not world.exists())
    assert "one" not in stored(world)


async def test_without_a_list_indices_of_the_database_itself_are_left_out_and_data_streams_are_not() -> None:
    world = world_with("logs-1", ".opendistro_security", ".plugins-ml-config")
    world.database.snapshots.add_index(".ds-events-000001", 4, stream="events")
    world.declare(repository="files")
    async with world.operator():
        await world.until(world.is_ready)
    assert sorted(stored(world)["one"].indices) == [".ds-events-000001", "logs-1"]


async def test_a_repository_that_cannot_be_written_or_read_needs_a_person_and_recovers() -> None:
    world = world_with("logs-1")
    world.database.snapshots.readonly.add("files")
    world.declare(repository="files")
    async with world.operator():
        await world.until(lambda: world.stalled() == "RepositoryFails")
        assert "readonly" in world.status()["activity"]
        world.database.snapshots.readonly.clear()
        world.database.snapshots.unreadable.add("files")
        await world.until(lambda: "could not read repository data" in world.status()["activity"])
        assert world.stalled() == "RepositoryFails"
        assert world.database.snapshots.began == []
        world.database.snapshots.unreadable.clear()
        await world.until(world.is_ready)


async def test_two_resources_for_one_snapshot_are_told_and_the_older_one_takes_it() -> None:
    world = world_with("logs-1")
    world.declare(repository="files", snapshot="same")
    await asyncio.sleep(5)
    world.declare("two", repository="files", snapshot="same")
    async with world.operator():
        await world.until(world.is_ready)
        await world.until(lambda: world.stalled("two") == "Conflict")
    assert world.database.snapshots.began == ["same"]


async def test_a_size_that_the_database_does_not_tell_in_time_delays_nothing() -> None:
    world = world_with("logs-1")
    world.database.snapshots.silent_sizes = True
    world.declare(repository="files")
    async with world.operator():
        await world.until(world.is_ready)
    assert "sizeBytes" not in world.status()


async def test_a_claim_of_a_database_that_is_gone_is_made_again() -> None:
    world = world_with("logs-1")
    world.declare(repository="files")
    world.reachable = False
    async with world.operator():
        await asyncio.sleep(30)
    world.reachable = True
    world.change_status("claim", "Creating")
    world.change_status("clusterUUID", "another")
    async with world.operator():
        await world.until(world.is_ready)
    assert world.status()["clusterUUID"] == "uuid-1"
    assert world.database.snapshots.began == ["one"]
