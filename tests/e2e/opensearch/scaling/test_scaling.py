"""A pool changes its size by itself, by the shards that it holds, by `kubectl scale` and by an autoscaler."""

import json

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, settled
from tests.e2e.opensearch.scaling.autoscaler import autoscaled
from tests.e2e.opensearch.scaling.sized_pools import give_pool_scale, has, nothing_lost, pools, size, until_met
from tests.e2e.operators import kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5")]

NAME, VERSION = "scaled", "2.19.5"
SHARDS = {"measure": "Shards", "above": 6, "below": 5}
CPU = {"measure": "CPU", "above": 100, "below": 99}
"""It never asks for a member: it shows that the use of the processors is known."""


async def test_a_pool_scales_by_its_shards_by_kubectl_scale_and_by_an_autoscaler(
    clusters: Clusters, stateward: Sandbox
) -> None:
    await clusters.apply(NAME, version=VERSION, pools=pools(rules=[SHARDS, CPU]))
    await clusters.until(NAME, settled, seconds=600)
    database = clusters.database(NAME)
    async with nothing_lost(clusters, NAME):
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


async def obeys_kubectl(clusters: Clusters, stateward: Sandbox) -> None:
    """Give the pool a PoolScale in place of its rules, and change the number as an autoscaler does."""

    def run(*words: str) -> str:
        return kubectl(stateward, "-n", clusters.namespace, *words)

    await clusters.apply(NAME, version=VERSION, pools=pools())
    await give_pool_scale(stateward, clusters.namespace, NAME)
    run("scale", "poolscale/hot", "--replicas=9")
    limited = await clusters.until(NAME, has(3), seconds=600)
    assert size(limited).reason == "PoolScale hot asks for 9, and the limit is 3"
    await until_met(stateward, clusters.namespace, "poolscale/hot", "condition=Ready")
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
        await until_met(stateward, clusters.namespace, "hpa/hot", "condition=ScalingActive")
        load.becomes(20)
        await clusters.until(NAME, has(2), seconds=600)
