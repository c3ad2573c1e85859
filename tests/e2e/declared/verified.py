"""Snapshots in end-to-end tests: restored into a throw-away cluster, of which nothing stays."""

import asyncio
from pathlib import Path
from typing import Any

from sandbox import Sandbox
from stateward.api.kinds.snapshots.verification import VerificationStatus
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.operator.declared.views import SEARCH_OBJECTS, SEARCH_RESTORES, SEARCH_SNAPSHOT_SCHEDULES
from tests.e2e.clusters import Clusters
from tests.e2e.declared.objects import SearchObjects, applied
from tests.e2e.declared.snapshots import DOCUMENTS, SHARED, Snapshots, with_shared, write
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import client
from tests.e2e.secured import ready as secured

CLUSTER, SCHEDULE = "proven", "minutely"
THROWAWAY = f"verify-{SCHEDULE}"
OFTEN = {"schedule": "* * * * *", "indices": ["orders"], "retention": {"maxCount": 5}}


async def verified(
    clusters: Clusters, sandbox: Sandbox, operator: OperatorPods, path: Path, spec: dict[str, Any]
) -> Snapshots:
    """Require that a snapshot is restored with all documents while the operator is killed, and that nothing stays."""
    objects, snapshots = SearchObjects(clusters, CLUSTER), Snapshots(clusters, CLUSTER)
    await clusters.apply(
        CLUSTER,
        **spec,
        security={"enabled": True},
        **await with_shared(clusters, path),
    )
    await clusters.until(CLUSTER, secured, seconds=600)
    body = {"type": "fs", "settings": {"location": f"{SHARED}/one"}}
    await objects.declare("files", "snapshotRepository/files", body, deletionPolicy="Retain")
    await objects.until("files", applied)
    async with client(sandbox, clusters, CLUSTER) as person:
        await write(person, "orders")
    before = {name: pod.metadata.uid for name, pod in (await clusters.pods(CLUSTER)).items()}
    await snapshots.declare(SEARCH_SNAPSHOT_SCHEDULES, SCHEDULE, **OFTEN, verify={"schedule": "* * * * *"})
    await snapshots.until(SEARCH_SNAPSHOT_SCHEDULES, SCHEDULE, lambda found: verification(found).snapshot)
    await operator.kill()
    await clusters.until(THROWAWAY, lambda cluster: bool(cluster.status.cluster_uuid), seconds=600)
    await operator.kill()
    done = await snapshots.until(
        SEARCH_SNAPSHOT_SCHEDULES, SCHEDULE, lambda found: verification(found).last_success, seconds=600
    )
    success = verification(done).last_success
    assert (success.documents, success.indices) == (DOCUMENTS, 1)
    await snapshots.declare(SEARCH_SNAPSHOT_SCHEDULES, SCHEDULE, **OFTEN)
    await gone(clusters)
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods(CLUSTER)).items()} == before
    return snapshots


async def damaged(snapshots: Snapshots, path: Path) -> None:
    """Delete files of documents in the repository: snapshots go on to succeed, and only a restore finds it."""
    lose_documents(path)
    known = (await snapshots.until(SEARCH_SNAPSHOT_SCHEDULES, SCHEDULE, lambda found: found)).status.last_success.name

    def another(found: Any) -> bool:
        return found.status.last_success is not None and found.status.last_success.name > known

    await snapshots.until(SEARCH_SNAPSHOT_SCHEDULES, SCHEDULE, another)
    await snapshots.declare(SEARCH_SNAPSHOT_SCHEDULES, SCHEDULE, **OFTEN, verify={"schedule": "* * * * *"})
    await snapshots.until(
        SEARCH_SNAPSHOT_SCHEDULES, SCHEDULE, lambda found: verification(found).last_failure, seconds=600
    )
    await snapshots.delete(SEARCH_SNAPSHOT_SCHEDULES, SCHEDULE)
    await gone(snapshots.clusters)


def lose_documents(path: Path) -> None:
    """Delete the files of all shards in a repository."""
    files = list(path.glob("one/indices/*/*/__*"))
    assert files
    for file in files:
        file.unlink()


def verification(found: Any) -> Any:
    """Return what is known of a schedule's verifications."""
    return found.status.verification or VerificationStatus()


async def gone(clusters: Clusters) -> None:
    """Wait until nothing of the throw-away cluster is left: its objects, its pods, and its volumes."""
    key, labels = Key(clusters.namespace, THROWAWAY), f"stateward.dev/cluster={THROWAWAY}"
    async with asyncio.timeout(300):
        for kind in (clusters.kind.resource.raw(), SEARCH_OBJECTS.raw(), SEARCH_RESTORES.raw()):
            try:
                while True:
                    await clusters.api.get(kind, key)
                    await asyncio.sleep(0.5)
            except NotFound:
                continue
        for kind in (kinds.PODS.metadata_only(), kinds.CLAIMS.metadata_only(), kinds.SECRETS):
            while (await clusters.api.list(kind, Selection(clusters.namespace, labels=labels))).items:
                await asyncio.sleep(0.5)
