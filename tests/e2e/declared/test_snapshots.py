"""Snapshots, schedules and restores on real databases: OpenSearch 2.19.3, and Elasticsearch 8.19.4."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, pool
from tests.e2e.declared.object_store import ObjectStore
from tests.e2e.declared.objects import stalled
from tests.e2e.declared.snapshots import (
    LARGER,
    REPOSITORIES,
    SHARED,
    USER,
    formed,
    lost_and_restored,
    save_and_restore,
    to_lose,
    upgraded_after_a_snapshot,
    with_shared,
)
from tests.e2e.declared.verified import damaged, verified
from tests.e2e.operators import OperatorPods, verifying_snapshots
from tests.e2e.secured import client, on_both_engines, ready

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@on_both_engines
async def test_snapshots_are_taken_kept_by_a_schedule_and_restored(
    clusters: Clusters,
    stateward: Sandbox,
    operator: OperatorPods,
    version: str,
    manager: str,
) -> None:
    nodes = pool("nodes", 1, manager, "data", "ingest", resources=LARGER)
    config = {"path.repo": [REPOSITORIES]}
    await clusters.apply("safe", version=version, pools=[nodes], security={"enabled": True}, config=config)
    await clusters.until("safe", ready, seconds=600)
    async with client(stateward, clusters, "safe") as person:
        await save_and_restore(clusters, "safe", person, operator)


@pytest.fixture
def shared() -> Iterator[Path]:
    """Give a directory that the pods on all nodes of the sandbox can mount and write to."""
    path = Path(tempfile.mkdtemp(prefix="repositories-"))
    shutil.chown(path, USER, USER)
    yield path
    shutil.rmtree(path)


@on_both_engines
async def test_a_cluster_that_is_lost_with_its_volumes_comes_back_from_its_snapshot(
    clusters: Clusters,
    stateward: Sandbox,
    operator: OperatorPods,
    shared: Path,
    version: str,
    manager: str,
) -> None:
    spec = {**to_lose(version, manager), **await with_shared(clusters, shared)}
    objects = await formed(clusters, spec, {"type": "fs", "settings": {"location": f"{SHARED}/one"}})
    await lost_and_restored(clusters, stateward, operator, spec, objects)


@pytest.mark.images("opensearch:2.19.3", "stateward.dev/opensearch-plugins:1", "stateward.dev/versitygw:1")
async def test_a_cluster_that_is_lost_comes_back_from_an_object_store(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    store = ObjectStore.of(stateward, clusters.namespace)
    await store.server.up()
    store.allow(secret_key="wrong")
    spec = {**to_lose("2.19.3", "cluster_manager"), **store.spec}
    objects = await formed(clusters, spec, store.repository)
    refused = await objects.until("files", stalled("RepositoryFails"))
    assert "is not accessible" in refused.status.activity
    assert store.stored() == 0
    store.allow()
    await lost_and_restored(clusters, stateward, operator, spec, objects)
    assert store.stored() > 0


@pytest.mark.images("opensearch:2.17.1", "opensearch:2.19.5")
async def test_an_upgrade_begins_after_a_snapshot_with_all_indices(
    clusters: Clusters,
    stateward: Sandbox,
    operator: OperatorPods,
    shared: Path,
) -> None:
    await upgraded_after_a_snapshot(clusters, stateward, shared)


@on_both_engines
async def test_a_snapshot_is_restored_into_a_throw_away_cluster_and_a_damaged_one_is_found(
    clusters: Clusters,
    stateward: Sandbox,
    operator: OperatorPods,
    shared: Path,
    version: str,
    manager: str,
) -> None:
    with verifying_snapshots(stateward):
        nodes = pool("nodes", 1, manager, "data", "ingest", resources=LARGER)
        snapshots = await verified(clusters, stateward, operator, shared, {"version": version, "pools": [nodes]})
        await damaged(snapshots, shared)
