"""One cluster's life on the stand-in: made once, grown, shrunk with its data, given knobs, upgraded."""

import pytest

from stateward.api.kinds.cluster import Cluster
from tests.e2e.clusters import Clusters, settled
from tests.e2e.foundationdb.database import Fdb, Watch, pools
from tests.e2e.operators import OperatorPods

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "7.1.57", "7.1.67"


def ready(cluster: Cluster) -> set[str]:
    return {m.name for m in cluster.status.member_states if m.state == "Ready"}


@pytest.mark.images(f"foundationdb:{OLD}", f"foundationdb:{NEW}")
async def test_a_clusters_life(clusters: Clusters, operator: OperatorPods, fdb: Fdb) -> None:
    await clusters.apply("life", version=OLD, pools=pools())
    born = await clusters.until("life", settled, seconds=300)
    assert born.status.health == "green"
    assert len(await fdb.coordinators("life")) == 3
    async with Watch(fdb, "life") as watch:
        await grow_and_shrink(clusters, operator, fdb)
        await change_a_knob(clusters, fdb)
        await upgrade(clusters, fdb)
    assert watch.broken == []
    assert watch.looks > 5


async def grow_and_shrink(clusters: Clusters, operator: OperatorPods, fdb: Fdb) -> None:
    await clusters.apply("life", version=OLD, pools=pools(storage=4))
    await clusters.until("life", lambda c: settled(c) and len(ready(c)) == 9, seconds=180)
    assert "life-storage-3" in await fdb.processes("life")
    await clusters.apply("life", version=OLD, pools=pools(storage=3))
    await operator.kill()
    await clusters.until("life", lambda c: settled(c) and len(ready(c)) == 8, seconds=240)
    await fdb.until_listed("life", lambda members: len(members) == 8)
    # A removed member is included again once none of its objects is left.
    assert await fdb.excluded("life") == []


async def change_a_knob(clusters: Clusters, fdb: Fdb) -> None:
    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods("life")).items()}
    await clusters.apply("life", version=OLD, pools=pools(), knobs={"max_shard_bytes": "500000"})
    await clusters.until("life", settled, seconds=240)
    processes = await fdb.processes("life")
    assert all("--knob_max_shard_bytes=500000" in p["command_line"] for p in processes.values())
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods("life")).items()} == pods
    uptimes = [p["uptime_seconds"] for p in processes.values()]
    assert max(uptimes) - min(uptimes) < 30  # all at once


async def upgrade(clusters: Clusters, fdb: Fdb) -> None:
    knobs = {"max_shard_bytes": "500000"}
    await clusters.apply("life", version=NEW, pools=pools(), knobs=knobs)
    await clusters.until("life", lambda c: settled(c) and c.status.version == NEW, seconds=420)
    assert {p["version"] for p in (await fdb.processes("life")).values()} == {NEW}
