"""A pool changes its size by itself, by the shards that it holds, by `kubectl scale` and by an autoscaler."""

import asyncio
import json
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.scaling.limits import ScalingStatus
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.opensearch.autoscaler import autoscaled
from tests.e2e.operators import kubectl
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5")]

NAME, VERSION = "scaled", "2.19.5"
SHARDS = {"measure": "Shards", "above": 6, "below": 5}
CPU = {"measure": "CPU", "above": 100, "below": 99}
"""It never asks for a member: it shows that the use of the processors is known."""
PATIENCE = {"growAfter": "20s", "shrinkAfter": "20s"}


def pools(**scaling: Any) -> list[dict[str, Any]]:
    limits = {"min": 2, "max": 3, **PATIENCE, **scaling}
    return [pool("managers", 1, "cluster_manager"), pool("hot", 2, "data", "ingest", scaling=limits)]


def size(cluster: Cluster) -> ScalingStatus:
    found = next((p.scaling for p in cluster.status.pools if p.name == "hot"), None)
    assert found is not None
    return found


def has(members: int) -> Any:
    """Return the condition that the pool has so many members, and all of them serve."""

    def holds(cluster: Cluster) -> bool:
        ready = next((p.ready for p in cluster.status.pools if p.name == "hot"), 0)
        return settled(cluster) and size(cluster).replicas == ready == members

    return holds


async def test_a_pool_scales_by_its_shards_by_kubectl_scale_and_by_an_autoscaler(
    clusters: Clusters, stateward: Sandbox
) -> None:
    await clusters.apply(NAME, version=VERSION, pools=pools(rules=[SHARDS, CPU]))
    await clusters.until(NAME, settled, seconds=600)
    database = clusters.database(NAME)
    await database.create_index("docs", shards=2)
    async with Writer(database, "docs") as writer, Promises(clusters, NAME) as promises:
        await database.create_index("more", shards=6)
        grown = await clusters.until(NAME, has(3), seconds=600)
        assert size(grown).reason == "its members have 8 copies of shards each, more than 6"
        assert size(grown).cpu_percent is not None
        await clusters.apply(NAME, version=VERSION, pools=pools(rules=[SHARDS]))
        await database.ask("more", "DELETE")
        shrunk = await clusters.until(NAME, has(2), seconds=600)
        assert "one member fewer is enough" in size(shrunk).reason
        await obeys_kubectl(clusters, stateward)
        await obeys_an_autoscaler(clusters, stateward)
    assert promises.broken == []
    assert "red" not in promises.seen_health
    assert await writer.missing() == set()
    assert await database.left_behind() == {}


async def obeys_kubectl(clusters: Clusters, stateward: Sandbox) -> None:
    """Give the pool a PoolScale in place of its rules, and change the number as an autoscaler does."""

    def run(*words: str) -> str:
        return kubectl(stateward, "-n", clusters.namespace, *words)

    await clusters.apply(NAME, version=VERSION, pools=pools())
    spec = {"cluster": {"kind": "OpenSearchCluster", "name": NAME}, "pool": "hot", "replicas": 2}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "PoolScale"}
    made = {**head, "metadata": {"name": "hot", "namespace": clusters.namespace}, "spec": spec}
    kubectl(stateward, "apply", "-f", "-", stdin=json.dumps(made))
    await asyncio.to_thread(run, "wait", "poolscale/hot", "--for=condition=Ready", "--timeout=120s")
    run("scale", "poolscale/hot", "--replicas=9")
    limited = await clusters.until(NAME, has(3), seconds=600)
    assert size(limited).reason == "PoolScale hot asks for 9, and the limit is 3"
    await asyncio.to_thread(run, "wait", "poolscale/hot", "--for=condition=Ready", "--timeout=120s")
    scale = json.loads(
        run("get", "--raw", f"/apis/stateward.dev/v1alpha1/namespaces/{clusters.namespace}/poolscales/hot/scale")
    )
    assert scale["status"]["replicas"] == 3
    pods = run("get", "pods", "-l", scale["status"]["selector"], "-o", "name").split()
    assert len(pods) == 3
    run("scale", "poolscale/hot", "--replicas=2")
    await clusters.until(NAME, has(2), seconds=600)


async def obeys_an_autoscaler(clusters: Clusters, stateward: Sandbox) -> None:
    """Let a HorizontalPodAutoscaler write the PoolScale: the metric grows, and falls again."""
    async with autoscaled(stateward, clusters.namespace, "hot", each=10, between=(2, 3)) as load:
        load.becomes(30)
        grown = await clusters.until(NAME, has(3), seconds=600)
        assert size(grown).reason == "PoolScale hot asks for 3"
        words = ("wait", "hpa/hot", "--for=condition=ScalingActive", "--timeout=60s")
        await asyncio.to_thread(kubectl, stateward, "-n", clusters.namespace, *words)
        load.becomes(20)
        await clusters.until(NAME, has(2), seconds=600)
