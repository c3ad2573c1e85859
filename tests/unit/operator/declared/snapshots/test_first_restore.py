"""The SearchRestore of a cluster that begins with a snapshot: created once, owned by it, and read as it is."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key
from stateward.operator.declared.snapshots.first_restore import create_first_restore, read_first_restore
from stateward.operator.declared.views import SEARCH_RESTORES
from stateward.planning.model.observation import Restore, Unknown
from stateward.simulation.apiserver.client import WorldApi
from stateward.simulation.apiserver.network import Network
from tests.unit.operator.declared.snapshots.test_restores import saved
from tests.unit.operator.declared.world import CLUSTER, HOME, World

NAME = "logs-bootstrap"
ORIGIN = {"repository": "files", "snapshot": "nightly*", "indices": ["logs-*"]}


def beginning(uid: str = "uid-1", **status: Any) -> OpenSearchCluster:
    """Return a cluster that begins with a snapshot."""
    made = {
        **CLUSTER,
        "metadata": {**CLUSTER["metadata"], "uid": uid},
        "spec": {**CLUSTER["spec"], "bootstrap": {"fromSnapshot": ORIGIN}},
        "status": {**CLUSTER["status"], "bootstrap": {"member": "", "volume": "", "formed": True, **status}},
    }
    return msgspec.convert(made, OpenSearchCluster)


def new() -> OpenSearchCluster:
    """Return a cluster that begins with a snapshot and has no status of its bootstrap yet."""
    return msgspec.structs.replace(beginning(), status=msgspec.convert(CLUSTER, OpenSearchCluster).status)


def api_of(world: World) -> Any:
    network = Network(world.context.stream("network"), world.context.count)
    return WorldApi(world.server, world.change_signal, network, "stateward")


def world_to_restore() -> World:
    world = World(kind="SearchRestore")
    saves = (saved("nightly-1", 300, logs_1=3), saved("nightly-2", 200, "FAILED", logs_1=9), saved("nightly-3", 100))
    world.database.snapshots.repositories["files"] = {each.name: each for each in saves}
    world.found = beginning()
    return world


async def test_it_is_created_once_and_restores_the_newest_snapshot_that_is_not_empty() -> None:
    world = world_to_restore()
    api, cluster = api_of(world), beginning()
    assert await read_first_restore(api, cluster) is None
    await create_first_restore(api, cluster)
    await create_first_restore(api, cluster)
    found = await read_first_restore(api, cluster)
    assert isinstance(found, Restore)
    assert (found.ours, found.done, found.stalled) == (True, False, False)
    async with world.operator():
        await world.until(lambda: world.is_ready(NAME))
    done = Restore(NAME, done=True, message=world.status(NAME)["activity"], snapshot="nightly-1", documents=3)
    assert await read_first_restore(api, cluster) == done


async def test_it_is_created_for_a_cluster_that_has_no_status_of_its_bootstrap_yet() -> None:
    world = world_to_restore()
    api = api_of(world)
    assert new().status.bootstrap is None
    await create_first_restore(api, new())
    assert isinstance(await read_first_restore(api, new()), Restore)


async def test_it_is_not_read_or_created_for_a_cluster_that_has_begun_or_begins_empty() -> None:
    world = world_to_restore()
    api = api_of(world)
    for cluster in (beginning(restoredSnapshot="nightly-1"), msgspec.convert(CLUSTER, OpenSearchCluster)):
        await create_first_restore(api, cluster)
        assert not world.exists(NAME)
        assert await read_first_restore(api, cluster) is None


async def test_one_of_another_cluster_is_left_alone_and_is_not_ours() -> None:
    world = world_to_restore()
    api = api_of(world)
    await create_first_restore(api, beginning("an earlier cluster of this name"))
    await create_first_restore(api, beginning())
    found = await read_first_restore(api, beginning())
    assert isinstance(found, Restore)
    assert not found.ours


async def test_what_cannot_be_read_is_unknown_and_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    api = api_of(world_to_restore())

    async def refuse(*_: object) -> None:
        raise Forbidden("searchrestores is forbidden")

    monkeypatch.setattr(api, "get", refuse)
    assert await read_first_restore(api, beginning()) == Unknown("searchrestores is forbidden")


async def test_a_stalled_restore_says_why() -> None:
    world = world_to_restore()
    world.database.snapshots.add_index("logs-1", 7)
    api = api_of(world)
    await create_first_restore(api, beginning())
    async with world.operator():
        await world.until(lambda: world.stalled(NAME) == "IndicesExist")
    found = await read_first_restore(api, beginning())
    assert isinstance(found, Restore)
    assert found.stalled
    assert "logs-1" in found.message


@pytest.mark.parametrize(
    ("kind", "spec"),
    [("SearchSnapshot", {}), ("SearchSnapshotSchedule", {"schedule": "* * * * *"})],
    ids=["snapshot", "schedule"],
)
async def test_nothing_is_saved_before_the_cluster_has_begun(kind: str, spec: dict[str, Any]) -> None:
    world = World(kind=kind)
    world.database.snapshots.repositories["files"] = {}
    world.found = beginning()
    world.declare(repository="files", **spec)
    async with world.operator():
        await world.until(lambda: "begins with" in world.status().get("activity", ""))
        assert not world.database.snapshots.repositories["files"]
        world.found = beginning(restoredSnapshot="nightly-1")
        await world.until(lambda: bool(world.database.snapshots.repositories["files"]))


async def test_the_owner_is_the_cluster_so_that_both_go_together() -> None:
    world = world_to_restore()
    api = api_of(world)
    await create_first_restore(api, beginning())
    (owner,) = (await api.get(SEARCH_RESTORES.raw(), Key(HOME, NAME)))["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        "OpenSearchCluster",
        "logs",
        "uid-1",
        True,
    )


async def test_a_restore_that_is_being_deleted_is_not_the_clusters_any_more() -> None:
    world = world_to_restore()
    api, cluster = api_of(world), beginning()
    await create_first_restore(api, cluster)
    live = world.store.get("stateward.dev/searchrestores", Key(HOME, NAME))
    assert live is not None
    world.context.change(live, ("metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z")
    found = await read_first_restore(api, cluster)
    assert isinstance(found, Restore)
    assert not found.ours
