"""One cluster's life on real Elasticsearch: born and grown, upgraded through a major version under writes, shrunk."""

import pytest

from tests.e2e.clusters import Clusters, condition, pool, settled
from tests.e2e.operators import OperatorPods
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full]

FIRST, SECOND, LAST = "7.17.28", "8.17.0", "8.19.4"


def everything(replicas: int) -> dict[str, object]:
    return pool("all", replicas, "master", "data", "ingest")


def hot(replicas: int) -> dict[str, object]:
    return pool("hot", replicas, "data_hot", "data_content")


@pytest.mark.images("elasticsearch:7.17.28", "elasticsearch:8.17.0", "elasticsearch:8.19.4")
async def test_a_clusters_life_under_writes(clusters: Clusters, operator: OperatorPods) -> None:
    """Nothing acknowledged is lost, never red, never two members down, nothing left behind in the database."""
    await clusters.apply("life", version=FIRST, pools=[everything(2)])
    born = await clusters.until("life", settled, seconds=600)
    assert (born.status.version, born.status.health) == (FIRST, "green")
    database = clusters.database("life")
    await database.create_index("docs")
    async with Writer(database, "docs") as writer:
        await grow(clusters)
        await refuse_to_leave_the_path(clusters)
        await upgrade(clusters, operator, SECOND)
        await upgrade(clusters, operator, LAST)
        await refuse_the_downgrade(clusters)
        await shrink(clusters)
        assert writer.acknowledged
    assert await writer.missing() == set()
    assert writer.longest_gap < 60


async def grow(clusters: Clusters) -> None:
    """A third member and a new pool join; no other member restarts."""
    before = await uids(clusters)
    await clusters.apply("life", version=FIRST, pools=[everything(3), hot(1)])
    await clusters.until("life", settled, seconds=600)
    after = await uids(clusters)
    assert len(after) == 4
    assert before.items() <= after.items()


async def refuse_to_leave_the_path(clusters: Clusters) -> None:
    """A version that is two major ones away is refused; the cluster goes on with what it runs."""
    await clusters.apply("life", version="9.2.0", pools=[everything(3), hot(1)])
    refused = await clusters.until("life", lambda c: condition(c, "Stalled") == "True", seconds=120)
    assert any("go through 8.x first" in wait.message for wait in refused.status.waiting)
    assert set((await clusters.database("life").versions()).values()) == {FIRST}
    await clusters.apply("life", version=FIRST, pools=[everything(3), hot(1)])
    await clusters.until("life", settled, seconds=120)


async def upgrade(clusters: Clusters, operator: OperatorPods, version: str) -> None:
    """Every member comes back with the version, also when the operator dies in the middle."""
    before = await uids(clusters)
    async with Promises(clusters, "life") as promises:
        await clusters.apply("life", version=version, pools=[everything(3), hot(1)])
        await clusters.until("life", lambda c: any(m.state == "Restarting" for m in c.status.member_states))
        await operator.kill()
        await clusters.until("life", lambda c: settled(c) and c.status.version == version, seconds=1200)
    assert promises.broken == []
    assert promises.looks > 5
    assert "red" not in promises.seen_health
    assert set((await clusters.database("life").versions()).values()) == {version}
    after = await uids(clusters)
    assert all(after[name] != uid for name, uid in before.items())
    await nothing_left_behind(clusters)


async def refuse_the_downgrade(clusters: Clusters) -> None:
    before = await uids(clusters)
    await clusters.apply("life", version=SECOND, pools=[everything(3), hot(1)])
    refused = await clusters.until("life", lambda c: condition(c, "Stalled") == "True", seconds=120)
    assert any(LAST in wait.message and SECOND in wait.message for wait in refused.status.waiting)
    assert refused.status.version == LAST
    assert await uids(clusters) == before
    await clusters.apply("life", version=LAST, pools=[everything(3), hot(1)])
    await clusters.until("life", settled, seconds=120)


async def shrink(clusters: Clusters) -> None:
    """A pool hands its shards over and goes, and the last member of another hands over its vote, too."""
    await clusters.apply("life", version=LAST, pools=[everything(2)])
    await clusters.until("life", settled, seconds=600)
    assert sorted(await clusters.pods("life")) == ["life-all-0", "life-all-1"]
    database = clusters.database("life")
    health = await database.health()
    assert (health["status"], health["number_of_nodes"]) == ("green", 2)
    await nothing_left_behind(clusters)


async def uids(clusters: Clusters) -> dict[str, str]:
    return {name: pod.metadata.uid for name, pod in (await clusters.pods("life")).items()}


async def nothing_left_behind(clusters: Clusters) -> None:
    assert not (left := await clusters.database("life").left_behind()), left
    state = await clusters.database("life").ask("_cluster/state/metadata?filter_path=metadata.cluster_coordination")
    assert state["metadata"]["cluster_coordination"]["voting_config_exclusions"] == []
