"""What members of OpenSearch fail by, on real nodes: each is replaced, held or waited for, and every document stays."""

import pytest

from sandbox import Sandbox
from stateward.api.cluster import Cluster
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.failing import held, no_room, phase, ready
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "2.17.1", "2.19.5"


def gone(cluster: Cluster, member: str) -> bool:
    """Return whether nothing is left of a member but its volume, and nothing is left to do."""
    return settled(cluster) and phase(cluster, member) == "VolumeKept"


def nodes(replicas: int = 3) -> list[dict[str, object]]:
    return [pool("nodes", replicas, "cluster_manager", "data", "ingest")]


async def nothing_left_behind(clusters: Clusters, name: str) -> None:
    settings = await clusters.database(name).settings()
    assert not any(key.startswith("cluster.routing.allocation") for key in settings)


@pytest.mark.images(f"opensearch:{OLD}", f"opensearch:{NEW}")
async def test_a_full_quota_a_pod_that_does_not_end_and_an_upgrade_each_let_a_replacement_finish(
    clusters: Clusters, stateward: Sandbox
) -> None:
    await clusters.apply("room", version=OLD, pools=nodes())
    await clusters.until("room", settled, seconds=600)
    await clusters.database("room").create_index("docs")
    await clusters.database("room").ask("_cluster/health?wait_for_status=green&timeout=30s")
    async with Writer(clusters.database("room"), "docs") as writer, Promises(clusters, "room") as promises:
        await without_room(clusters, stateward)
        await without_an_end(clusters)
        await during_an_upgrade(clusters)
    assert promises.broken == []
    assert await writer.missing() == set()
    await nothing_left_behind(clusters, "room")


async def without_room(clusters: Clusters, sandbox: Sandbox) -> None:
    """Nobody leaves while no pod can come in its place, and the status says why; then it goes on by itself."""
    name = "room-nodes-0"
    with no_room(sandbox, clusters.namespace, 3):
        await clusters.apply("room", version=OLD, pools=nodes(), members={"replace": [name]})
        await clusters.until("room", lambda c: phase(c, name) == "NoRoom", seconds=180)
        assert name in await clusters.database("room").versions()
    await clusters.until("room", lambda c: gone(c, name), seconds=300)


async def without_an_end(clusters: Clusters) -> None:
    """A member whose pod does not end has left the database, and holds nothing else up."""
    name = "room-nodes-1"
    async with held(clusters, name):
        await clusters.apply("room", version=OLD, pools=nodes(), members={"replace": [name]})
        stuck = await clusters.until("room", lambda c: phase(c, name) == "Terminating" and settled(c), seconds=300)
        assert len(ready(stuck)) == 3
        assert stuck.status.health == "green"
    await clusters.until("room", lambda c: gone(c, name), seconds=180)


async def during_an_upgrade(clusters: Clusters) -> None:
    """A member is replaced while others are made anew: one after the other, never both on the same data."""
    name = "room-nodes-2"
    await clusters.apply("room", version=NEW, pools=nodes())
    await clusters.until("room", lambda c: any(m.version == NEW for m in c.status.member_states), seconds=240)
    await clusters.apply("room", version=NEW, pools=nodes(), members={"replace": [name]})
    done = await clusters.until("room", lambda c: gone(c, name) and c.status.version == NEW, seconds=600)
    assert len(ready(done)) == 3
    assert set((await clusters.database("room").versions()).values()) == {NEW}
