"""A pool follows KEDA within its limits: metric, pause, fallback, and requests for no members."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, settled
from tests.e2e.opensearch.scaling.keda import Scaled, scaled_by_keda
from tests.e2e.opensearch.scaling.sized_pools import give_pool_scale, has, nothing_lost, pools, until_met

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5", "stateward.dev/keda:1")]

NAME, VERSION = "followed", "2.19.5"
REASON = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}'


async def test_a_pool_follows_keda_within_its_limits(clusters: Clusters, stateward: Sandbox) -> None:
    await clusters.apply(NAME, version=VERSION, pools=pools())
    await clusters.until(NAME, settled, seconds=600)
    await give_pool_scale(stateward, clusters.namespace, NAME)
    async with (
        nothing_lost(clusters, NAME),
        scaled_by_keda(stateward, clusters.namespace, "hot") as scaled,
    ):
        await follows_the_metric(clusters, scaled)
        await stays_within_its_limits(clusters, scaled)
        await obeys_a_pause(clusters, scaled)
        await is_never_without_members(clusters, scaled)
        await keeps_its_members_without_an_answer(clusters, scaled)


async def follows_the_metric(clusters: Clusters, scaled: Scaled) -> None:
    """The metric grows and falls, and the pool with it."""
    scaled.apply(minReplicaCount=2, maxReplicaCount=3)
    await scaled.until(Ready="True", Active="True")
    scaled.load.becomes(30)
    await clusters.until(NAME, has(3, "PoolScale hot asks for 3"), seconds=600)
    await scaled.until(Ready="True", Active="True", HPAActive="True", Paused="False", Fallback="False")
    scaled.load.becomes(20)
    await clusters.until(NAME, has(2, "PoolScale hot asks for 2"), seconds=600)


async def stays_within_its_limits(clusters: Clusters, scaled: Scaled) -> None:
    """KEDA may ask for more members than the pool may have."""
    scaled.load.becomes(50)
    scaled.apply(minReplicaCount=2, maxReplicaCount=5)
    await clusters.until(NAME, has(3, "PoolScale hot asks for 5, and the limit is 3"), seconds=600)
    await until_met(scaled.sandbox, scaled.namespace, "poolscale/hot", f"{REASON}=Limited")
    await scaled.until(Ready="True", Active="True", HPAActive="True")


async def obeys_a_pause(clusters: Clusters, scaled: Scaled) -> None:
    """While KEDA is paused with a number, the pool has that many members, whatever the metric is."""
    scaled.pause(2)
    await clusters.until(NAME, has(2, "PoolScale hot asks for 2"), seconds=600)
    await scaled.until(Paused="True")


async def is_never_without_members(clusters: Clusters, scaled: Scaled) -> None:
    """By default KEDA scales to zero when the metric is: the pool has its fewest members then, and grows from there."""
    scaled.load.becomes(0)
    scaled.apply(minReplicaCount=0, maxReplicaCount=3)
    scaled.pause(None)
    await clusters.until(NAME, has(2, "PoolScale hot asks for 0, and the limit is 2"), seconds=600)
    await scaled.until(Ready="True", Active="False", Paused="False")
    scaled.load.becomes(30)
    await clusters.until(NAME, has(3, "PoolScale hot asks for 3"), seconds=600)
    await scaled.until(Ready="True", Active="True", HPAActive="True")


async def keeps_its_members_without_an_answer(clusters: Clusters, scaled: Scaled) -> None:
    """A metric that is not known changes nothing, unless KEDA has a number for that."""
    scaled.apply(minReplicaCount=2, maxReplicaCount=3)
    scaled.load.fails()
    await scaled.until(Ready="False", HPAActive="False")
    assert scaled.asked() == 3
    scaled.apply(minReplicaCount=2, maxReplicaCount=3, fallback={"failureThreshold": 1, "replicas": 2})
    await scaled.until(Fallback="True")
    await clusters.until(NAME, has(2, "PoolScale hot asks for 2"), seconds=600)
