"""What members of FoundationDB fail by, in real pods: each is replaced, held or waited for, and no data is lost."""

import pytest

from sandbox import Sandbox
from stateward.api.cluster import Cluster
from tests.e2e.clusters import Clusters, settled
from tests.e2e.failing import held, no_room, phase, ready
from tests.e2e.foundationdb.database import Fdb, Watch, pools

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "7.1.57", "7.1.67"


def gone(cluster: Cluster, member: str) -> bool:
    """Return whether nothing is left of a member but its volume, and nothing is left to do."""
    return settled(cluster) and phase(cluster, member) == "VolumeKept"


@pytest.mark.images(f"foundationdb:{OLD}", f"foundationdb:{NEW}")
async def test_a_full_quota_a_pod_that_does_not_end_and_an_upgrade_each_let_a_replacement_finish(
    clusters: Clusters, stateward: Sandbox, fdb: Fdb
) -> None:
    await clusters.apply("room", version=OLD, pools=pools())
    await clusters.until("room", settled, seconds=300)
    async with Watch(fdb, "room") as watch:
        await without_room(clusters, stateward)
        await without_an_end(clusters, fdb)
        await during_an_upgrade(clusters, fdb)
    assert watch.broken == []
    assert await fdb.excluded("room") == []


async def without_room(clusters: Clusters, sandbox: Sandbox) -> None:
    """Nobody leaves while no pod can come in its place, and the status says why; then it goes on by itself."""
    name = "room-storage-0"
    with no_room(sandbox, clusters.namespace, len(await clusters.pods("room"))):
        await clusters.apply("room", version=OLD, pools=pools(), members={"replace": [name]})
        full = await clusters.until("room", lambda c: phase(c, name) == "NoRoom", seconds=180)
        assert name in ready(full) | {m.name for m in full.status.member_states if m.state == "Leaving"}
    await clusters.until("room", lambda c: gone(c, name), seconds=300)


async def without_an_end(clusters: Clusters, fdb: Fdb) -> None:
    """A member whose pod does not end stays excluded, and holds nothing else up."""
    name = "room-storage-1"
    async with held(clusters, name):
        await clusters.apply("room", version=OLD, pools=pools(), members={"replace": [name]})
        stuck = await clusters.until("room", lambda c: phase(c, name) == "Terminating" and settled(c), seconds=300)
        assert len(ready(stuck)) == 8
        assert await fdb.excluded("room") == [f"locality_instance_id:{name}"]
    await clusters.until("room", lambda c: gone(c, name), seconds=180)
    assert await fdb.excluded("room") == []


async def during_an_upgrade(clusters: Clusters, fdb: Fdb) -> None:
    """A member is replaced while others are made anew: data is never on its way from two of them at once."""
    name = "room-log-1"
    await clusters.apply("room", version=NEW, pools=pools())
    await clusters.until("room", lambda c: any(m.version == NEW for m in c.status.member_states), seconds=240)
    await clusters.apply("room", version=NEW, pools=pools(), members={"replace": [name]})
    done = await clusters.until("room", lambda c: gone(c, name) and c.status.version == NEW, seconds=600)
    assert len(ready(done)) == 8
    assert {p["version"] for p in (await fdb.processes("room")).values()} == {NEW}
