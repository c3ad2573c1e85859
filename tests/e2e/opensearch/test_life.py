"""One cluster's life on real OpenSearch, under writes: born, upgraded, refused a downgrade, shrunk, given more room."""

import asyncio

import pytest

from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from tests.e2e.clusters import Clusters, condition, pool, settled
from tests.e2e.operators import OperatorPods
from tests.e2e.witness import Promises, Writer

pytestmark = pytest.mark.e2e

OLD, NEW = "2.17.1", "2.19.5"
MANAGERS = pool("managers", 3, "cluster_manager")


def hot(replicas: int, size: str = "1Gi") -> dict[str, object]:
    return pool("hot", replicas, "data", "ingest", storage={"size": size})


@pytest.mark.images("opensearch:2.17.1", "opensearch:2.19.5")
async def test_a_clusters_life_under_writes(clusters: Clusters, operator: OperatorPods) -> None:
    """Nothing acknowledged is lost, never red, never two members down, nothing left behind in the database."""
    await clusters.apply("life", version=OLD, pools=[MANAGERS, hot(3)])
    born = await clusters.until("life", settled, seconds=600)
    assert born.status.version == OLD
    assert born.status.health == "green"
    database = clusters.database("life")
    await database.create_index("docs")
    async with Writer(database, "docs") as writer:
        await upgrade_with_a_killed_operator(clusters, operator)
        await refuse_the_downgrade(clusters)
        await shrink(clusters)
        await grow_the_volumes(clusters)
        assert writer.acknowledged
    assert await writer.missing() == set()
    assert writer.longest_gap < 60


async def upgrade_with_a_killed_operator(clusters: Clusters, operator: OperatorPods) -> None:
    before = {name: pod.metadata.uid for name, pod in (await clusters.pods("life")).items()}
    async with Promises(clusters, "life") as promises:
        await clusters.apply("life", version=NEW, pools=[MANAGERS, hot(3)])
        await clusters.until("life", lambda c: any(m.state == "Restarting" for m in c.status.member_states))
        await operator.kill()
        after = await clusters.until("life", lambda c: settled(c) and c.status.version == NEW, seconds=900)
    assert promises.broken == []
    assert promises.looks > 5
    assert "red" not in promises.seen_health
    assert set((await clusters.database("life").versions()).values()) == {NEW}
    pods = await clusters.pods("life")
    assert all(pods[name].metadata.uid != uid for name, uid in before.items())
    assert [p.upgrade for p in after.status.pools] == ["", ""]
    await nothing_left_behind(clusters)


async def refuse_the_downgrade(clusters: Clusters) -> None:
    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods("life")).items()}
    await clusters.apply("life", version=OLD, pools=[MANAGERS, hot(3)])
    refused = await clusters.until("life", lambda c: condition(c, "Stalled") == "True", seconds=60)
    assert any(NEW in wait.message and OLD in wait.message for wait in refused.status.waiting)
    assert refused.status.version == NEW
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods("life")).items()} == pods
    await clusters.apply("life", version=NEW, pools=[MANAGERS, hot(3)])
    await clusters.until("life", settled, seconds=60)


async def shrink(clusters: Clusters) -> None:
    """The last member hands its shards over before it goes, and its volume is kept."""
    database = clusters.database("life")
    await clusters.apply("life", version=NEW, pools=[MANAGERS, hot(2)])
    await clusters.until("life", settled, seconds=300)
    assert "life-hot-2" not in await clusters.pods("life")
    assert (await database.health())["status"] == "green"
    kept = await clusters.api.get(kinds.CLAIMS, Key(clusters.namespace, "data-life-hot-2"))
    assert not kept.metadata.terminating
    await nothing_left_behind(clusters)


async def grow_the_volumes(clusters: Clusters) -> None:
    """Volumes grow in place, and no pod restarts for it."""
    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods("life")).items()}
    await clusters.apply("life", version=NEW, pools=[MANAGERS, hot(2, "2Gi")])

    async with asyncio.timeout(120):
        while True:
            claim = await clusters.api.get(kinds.CLAIMS, Key(clusters.namespace, "data-life-hot-0"))
            if claim.capacity == "2Gi":
                break
            await asyncio.sleep(1)
    await clusters.until("life", settled, seconds=60)
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods("life")).items()} == pods


async def nothing_left_behind(clusters: Clusters) -> None:
    assert not (left := await clusters.database("life").left_behind()), left
    state = await clusters.database("life").ask("_cluster/state/metadata?filter_path=metadata.cluster_coordination")
    assert state["metadata"]["cluster_coordination"]["voting_config_exclusions"] == []
