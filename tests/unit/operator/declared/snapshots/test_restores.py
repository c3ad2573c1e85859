"""Restores: started once, never over an index without a word for it, and reported with the documents."""

import asyncio
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.snapshots.restore import SearchRestore
from stateward.engines.connection.base import Answer
from stateward.engines.search.snapshots.records import Snapshot
from stateward.operator.declared.snapshots import restore
from stateward.simulation.opensearch.snapshots import ModelIndex, ModelSnapshot
from tests.unit.operator.declared.test_preview import previewed
from tests.unit.operator.declared.world import HOME, World, now

RENAMED: dict[str, Any] = {"renamePattern": "(.+)", "renameReplacement": "restored-$1"}
CREATED = 1000


def saved(name: str = "nightly", age: float = 100.0, state: str = "SUCCESS", **documents: int) -> ModelSnapshot:
    """Return a snapshot whose indices have so many documents; `_` in their names stands for a dash."""
    indices = {index.replace("_", "-"): ModelIndex(count, CREATED) for index, count in documents.items()}
    return ModelSnapshot(name, f"uuid-of-{name}", now() - age, now() - age + 1, state, {}, indices)


def world_with(*snapshots: ModelSnapshot, **spec: Any) -> World:
    world = World(kind="SearchRestore")
    world.database.snapshots.repositories["files"] = {each.name: each for each in snapshots}
    world.declare(**{"repository": "files", "snapshot": "nightly", **spec})
    return world


def documents(world: World) -> dict[str, int]:
    return {name: each.documents for name, each in world.database.snapshots.indices.items()}


def restores(world: World) -> int:
    return [call.path.rpartition("/")[2] for call in world.database.writes].count("_restore")


async def test_indices_are_restored_under_other_names_and_counted() -> None:
    world = world_with(saved(logs_1=3, logs_2=0, orders=5), indices=["logs-*"], **RENAMED)
    world.database.snapshots.add_index("logs-1", 1)
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Restoring")
        await world.until(world.is_ready)
        before = world.status()
        await asyncio.sleep(3600)
    assert world.status() == before
    assert documents(world) == {"logs-1": 1, "restored-logs-1": 3, "restored-logs-2": 0}
    assert [(each["name"], each["documents"]) for each in before["indices"]] == [
        ("restored-logs-1", 3),
        ("restored-logs-2", 0),
    ]
    assert before["documents"] == 3
    assert before["recoveredBytes"] == before["totalBytes"] == 3000
    assert before["startTime"] < before["completionTime"]
    assert restores(world) == 1


async def test_a_pattern_is_the_newest_successful_snapshot_of_such_a_name_and_is_chosen_once() -> None:
    several = (
        saved("old", 300, a=1),
        saved("good", 200, a=2),
        saved("bad", 100, "PARTIAL", a=3),
        saved("other", 9, a=4),
    )
    world = world_with(*several, snapshot="*d")
    async with world.operator():
        await world.until(world.is_ready)
    assert world.status()["snapshot"] == "good"
    assert documents(world) == {"a": 2}


async def test_a_snapshot_that_is_deleted_while_it_is_chosen_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with(saved("old", 300, a=1), saved("good", 200, a=2), snapshot="*d")
    snapshots = world.database.snapshots.repositories["files"]
    listing, lists = restore.all_snapshots, list[list[str]]()

    async def listed(*asked: Any) -> list[Snapshot]:
        found = await listing(*asked)
        lists.append(sorted(each.snapshot for each in found))
        snapshots.pop("good", None)
        return found

    monkeypatch.setattr(restore, "all_snapshots", listed)
    async with world.operator():
        await world.until(world.is_ready)
    assert (world.status()["snapshot"], lists) == ("old", [["good", "old"]])


async def test_an_index_is_never_overwritten_without_a_word_for_it() -> None:
    world = world_with(saved(logs_1=3))
    world.database.snapshots.add_index("logs-1", 7)
    async with world.operator():
        await world.until(lambda: world.stalled() == "IndicesExist")
        assert "logs-1" in world.status()["activity"]
        assert not world.database.writes
        del world.database.snapshots.indices["logs-1"]
        await world.until(world.is_ready)
    assert documents(world) == {"logs-1": 3}


async def test_a_closed_index_needs_the_word_too() -> None:
    world = world_with(saved(logs_1=3))
    world.database.snapshots.add_index("logs-1", 7)
    world.database.snapshots.indices["logs-1"].open = False
    async with world.operator():
        await world.until(lambda: world.stalled() == "IndicesExist")
    assert documents(world) == {"logs-1": 7}


async def test_replace_closes_indices_and_restores_over_them() -> None:
    world = world_with(saved(logs_1=3, logs_2=4), existing="Replace")
    world.database.snapshots.add_index("logs-1", 7)
    async with world.operator():
        await world.until(world.is_ready)
    assert documents(world) == {"logs-1": 3, "logs-2": 4}
    assert world.status()["recoveredBytes"] == world.status()["totalBytes"] == 7000
    (first, second) = world.status()["indices"]
    assert first["replaced"]
    assert "replaced" not in second
    assert all(each.open for each in world.database.snapshots.indices.values())
    assert restores(world) == 1


async def test_what_was_closed_is_opened_again_if_the_database_refuses() -> None:
    world = world_with(saved(logs_1=3), existing="Replace")
    world.database.snapshots.add_index("logs-1", 7)
    reason = {"error": {"reason": "cannot restore index [logs-1] with [3] shards"}}
    world.database.refusals["/_snapshot/files/nightly/_restore"] = Answer(500, msgspec.json.encode(reason))
    async with world.operator():
        await world.until(lambda: world.stalled() == "RestoreRefused")
        assert world.database.snapshots.indices["logs-1"].open
        assert "with [3] shards" in world.status()["activity"]
        await asyncio.sleep(3600)
    assert [call.path for call in world.database.writes] == [
        "/logs-1/_close",
        "/_snapshot/files/nightly/_restore",
        "/logs-1/_open",
    ]
    assert world.stalled() == "RestoreRefused"


async def test_an_index_that_somebody_opens_again_in_between_is_not_replaced() -> None:
    world = world_with(saved(logs_1=3), existing="Replace")
    world.database.snapshots.add_index("logs-1", 7)
    busy = Answer(503, msgspec.json.encode({"error": {"reason": "no cluster manager"}}))
    world.database.refusals["/_snapshot/files/nightly/_restore"] = busy
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Starting")
        world.database.snapshots.indices["logs-1"].open = True
        world.database.refusals.clear()
        await world.until(lambda: world.stalled() == "RestoreRefused")
        world.database.snapshots.indices["logs-1"].open = False
        await asyncio.sleep(3600)
    assert documents(world) == {"logs-1": 7}


@pytest.mark.parametrize("taken", ["alias", "stream"])
async def test_names_of_aliases_and_data_streams_are_not_taken(taken: str) -> None:
    world = world_with(saved(logs_1=3), existing="Replace")
    if taken == "alias":
        world.database.snapshots.aliases.add("logs-1")
    else:
        world.database.snapshots.add_index(".ds-logs-1-000001", 1, stream="logs-1")
    async with world.operator():
        await world.until(lambda: world.stalled() == "NameTaken")
    assert not world.database.writes


async def test_a_data_stream_is_restored_with_its_indices() -> None:
    snapshot = saved(orders=2)
    snapshot.indices[".ds-events-000001"] = ModelIndex(4, CREATED, stream="events")
    snapshot.indices[".ds-events-000002"] = ModelIndex(5, CREATED, stream="events")
    world = world_with(snapshot, **RENAMED)
    async with world.operator():
        await world.until(world.is_ready)
    assert [(each["name"], each["documents"]) for each in world.status()["indices"]] == [
        ("restored-events", 9),
        ("restored-orders", 2),
    ]


async def test_a_shard_that_cannot_be_restored_needs_a_person() -> None:
    world = world_with(saved(logs_1=3))
    world.database.snapshots.breaks = True
    async with world.operator():
        await world.until(lambda: world.stalled() == "RestoreFailed")
    assert "CorruptIndexException" in world.status()["activity"]


async def test_a_restored_index_that_is_deleted_meanwhile_is_not_restored_again() -> None:
    world = world_with(saved(logs_1=3, logs_2=3))
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Restoring")
        del world.database.snapshots.indices["logs-1"]
        await world.until(lambda: world.stalled() == "IndicesMissing")
    assert restores(world) == 1


@pytest.mark.parametrize(
    ("snapshots", "reason"),
    [((), "SnapshotMissing"), ((("nightly", "FAILED"),), "SnapshotFailed")],
)
async def test_a_snapshot_that_cannot_be_restored_is_told(snapshots: tuple[tuple[str, str], ...], reason: str) -> None:
    world = world_with(*(saved(name, state=state, a=1) for name, state in snapshots))
    async with world.operator():
        await world.until(lambda: world.stalled() == reason)
    assert not world.database.writes


async def test_nothing_is_started_while_nodes_run_several_versions() -> None:
    world = world_with(saved(logs_1=3))
    world.database.versions = ["2.19.3", "3.1.0"]
    async with world.operator():
        await world.until(lambda: world.condition("Reconciling").get("reason") == "MixedVersions")
        assert not world.database.writes
        world.database.versions = ["3.1.0"]
        await world.until(world.is_ready)


async def test_restored_indices_stay_when_the_resource_goes() -> None:
    world = world_with(saved(logs_1=3))
    async with world.operator():
        await world.until(world.is_ready)
        world.delete()
        await world.until(lambda: not world.exists())
    assert documents(world) == {"logs-1": 3}


@pytest.mark.parametrize(
    ("spec", "back"),
    [({}, True), (RENAMED, False), ({**RENAMED, "includeAliases": True}, True), ({"includeAliases": False}, False)],
)
async def test_renamed_indices_get_no_aliases_unless_that_is_asked_for(spec: dict[str, Any], back: bool) -> None:
    world = world_with(saved(logs_1=3), **spec)
    async with world.operator():
        await world.until(world.is_ready)
    (asked,) = (call.body for call in world.database.writes if call.path.endswith("_restore"))
    assert asked is not None
    assert asked["include_aliases"] is back


async def test_two_restores_over_one_index_follow_each_other_and_each_reports_its_own_data() -> None:
    world = world_with(saved(logs_1=3), saved("other", logs_1=5), existing="Replace")
    world.database.snapshots.add_index("logs-1", 7)
    world.declare("two", repository="files", snapshot="other", existing="Replace")
    async with world.operator():
        await world.until(lambda: world.is_ready() and world.is_ready("two"))
    assert (world.status()["documents"], world.status("two")["documents"]) == (3, 5)
    assert restores(world) == 2


async def test_what_another_client_restores_from_another_snapshot_is_not_taken_for_the_own_restore() -> None:
    world = world_with(saved(logs_1=3), saved("other", logs_1=5))
    busy = Answer(503, msgspec.json.encode({"error": {"reason": "no cluster manager"}}))
    world.database.refusals["/_snapshot/files/nightly/_restore"] = busy
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Starting")
        world.database.snapshots.answer("POST", "/_snapshot/files/other/_restore", {}, {"indices": ["logs-1"]})
        world.database.refusals.clear()
        await world.until(lambda: world.stalled() == "IndicesExist")
    assert documents(world) == {"logs-1": 5}


async def test_what_another_client_restores_in_the_middle_is_not_reported_as_the_own_restore() -> None:
    world = world_with(saved(logs_1=3), saved("other", logs_1=5))
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Restoring")
        world.database.snapshots.indices["logs-1"].open = False
        world.database.snapshots.answer("POST", "/_snapshot/files/other/_restore", {}, {"indices": ["logs-1"]})
        await world.until(lambda: world.stalled() == "IndicesExist")
    assert "documents" not in world.status()


def closed_and_waiting() -> World:
    """Return a world in which an index is closed for a restore that the database is too busy to start."""
    world = world_with(saved(logs_1=3), existing="Replace")
    world.database.snapshots.add_index("logs-1", 7)
    busy = Answer(503, msgspec.json.encode({"error": {"reason": "no cluster manager"}}))
    world.database.refusals["/_snapshot/files/nightly/_restore"] = busy
    return world


@pytest.mark.parametrize("lost", ["snapshot", "repository"])
async def test_what_was_closed_is_opened_again_if_the_snapshot_is_lost_before_the_restore(lost: str) -> None:
    world = closed_and_waiting()
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Starting")
        assert not world.database.snapshots.indices["logs-1"].open
        if lost == "snapshot":
            del world.database.snapshots.repositories["files"]["nightly"]
        else:
            world.database.snapshots.unreadable.add("files")
        await world.until(lambda: world.stalled() == "RestoreRefused")
    assert world.database.snapshots.indices["logs-1"].open
    assert documents(world) == {"logs-1": 7}


async def test_an_upgrade_that_begins_while_an_index_is_closed_does_not_keep_it_closed() -> None:
    world = closed_and_waiting()
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Starting")
        world.database.versions = ["2.19.3", "3.1.0"]
        world.database.refusals.clear()
        await world.until(world.is_ready)
    assert documents(world) == {"logs-1": 3}


async def test_a_restore_that_may_have_happened_is_not_repeated_when_its_snapshot_is_gone_and_made_again() -> None:
    world = closed_and_waiting()
    snapshots = world.database.snapshots
    async with world.operator():
        await world.until(lambda: world.status().get("phase") == "Starting")
    snapshots.answer("POST", "/_snapshot/files/nightly/_restore", {}, {"indices": ["logs-1"]})
    await asyncio.sleep(60)
    snapshots.indices["logs-1"].documents = 50  # People write into it as soon as it is there.
    again = snapshots.repositories["files"].pop("nightly")
    async with world.operator():
        await world.until(lambda: world.stalled() == "Refused")
        again.uuid = "another"
        snapshots.repositories["files"]["nightly"] = again
        await asyncio.sleep(3600)
    assert documents(world) == {"logs-1": 50}
    assert snapshots.indices["logs-1"].open


async def test_a_preview_names_the_indices_and_those_whose_data_is_lost() -> None:
    world = World(kind="SearchRestore")
    world.database.snapshots.repositories["files"] = {"nightly": saved(logs_1=3, logs_2=4)}
    world.database.snapshots.add_index("logs-1", 7)

    def offered(**spec: Any) -> SearchRestore:
        cluster = {"kind": "OpenSearchCluster", "name": "logs"}
        wanted = {"cluster": cluster, "repository": "files", "snapshot": "nightly", **spec}
        return msgspec.convert({"metadata": {"name": "one", "namespace": HOME}, "spec": wanted}, SearchRestore)

    async with world.operator():
        refused = await previewed(world, offered())
        replacing = await previewed(world, offered(existing="Replace"))
        beside = await previewed(world, offered(**RENAMED))
        missing = await previewed(world, offered(snapshot="other"))
        assert not world.database.writes
        world.declare(repository="files", snapshot="nightly", **RENAMED)
        await world.until(world.is_ready)
        done = await previewed(world, offered(**RENAMED))
    assert (refused.does, refused.reason) == ("refuse", "IndicesExist")
    assert (replacing.object, replacing.does) == ("files/nightly", "replace")
    assert [(change.path, change.before, change.after) for change in replacing.changes] == [
        ("logs-1", "an open index, whose data is lost", "logs-1 of nightly"),
        ("logs-2", None, "logs-2 of nightly"),
    ]
    assert (beside.does, [change.path for change in beside.changes]) == (
        "create",
        ["restored-logs-1", "restored-logs-2"],
    )
    assert (missing.does, missing.reason) == ("refuse", "SnapshotMissing")
    assert (done.does, done.reason) == ("nothing", "Restored")
