"""Members of FoundationDB that are taken away: their data and their votes go elsewhere first."""

import pytest

from stateward.api.kinds.cluster import Cluster
from tests.e2e.clusters import Clusters, settled
from tests.e2e.foundationdb.database import Fdb, Watch, pools

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("foundationdb:7.1.67")]

VERSION = "7.1.67"


def phase(cluster: Cluster, member: str) -> str:
    return next((entry.phase for entry in cluster.status.pending_removals if entry.name == member), "")


def ready(cluster: Cluster) -> set[str]:
    return {m.name for m in cluster.status.member_states if m.state == "Ready"}


async def test_a_coordinator_is_replaced_by_name_and_its_vote_goes_first(clusters: Clusters, fdb: Fdb) -> None:
    await clusters.apply("votes", version=VERSION, pools=pools())
    await clusters.until("votes", settled, seconds=300)
    voter = min(name for name in await fdb.coordinators("votes") if "storage" in name)
    async with Watch(fdb, "votes") as watch:
        await clusters.apply("votes", version=VERSION, pools=pools(), members={"replace": [voter]})
        await clusters.until("votes", lambda c: settled(c) and voter not in ready(c), seconds=360)
    assert watch.broken == []
    assert voter not in await fdb.coordinators("votes")
    await fdb.until_listed("votes", lambda members: voter not in members)
    assert await fdb.excluded("votes") == []


async def test_a_replacement_is_reverted_in_flight(clusters: Clusters, fdb: Fdb) -> None:
    await clusters.apply("kept", version=VERSION, pools=pools())
    await clusters.until("kept", settled, seconds=300)
    name = "kept-storage-1"
    await clusters.apply("kept", version=VERSION, pools=pools(), members={"replace": [name]})
    await clusters.until("kept", lambda c: phase(c, name) != "", seconds=120)
    await clusters.apply("kept", version=VERSION, pools=pools(), members={"keep": [name]})
    kept = await clusters.until("kept", settled, seconds=300)
    assert name in ready(kept)
    assert kept.status.pending_removals == []
    assert await fdb.excluded("kept") == []
