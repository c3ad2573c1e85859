"""A cluster that is created again with other names for its pools forms no second database, and asks for its volumes."""

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from tests.e2e.clusters import Clusters, Condition, pool, settled
from tests.e2e.operators import kubectl
from tests.e2e.witness import Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5")]

NAME, VERSION = "again", "2.19.5"
MANAGERS, HOT = pool("managers", 3, "cluster_manager"), pool("hot", 2, "data", "ingest")
MASTERS, WARM = pool("masters", 3, "cluster_manager"), pool("warm", 2, "data", "ingest")


def asked_for(*members: str) -> Condition:
    """Return the condition that the status asks for the kept volumes of exactly these members."""

    def holds(cluster: Cluster) -> bool:
        return {w.subject for w in cluster.status.waiting if w.reason == "PoolNeeded"} == set(members)

    return holds


async def test_a_cluster_that_is_created_again_under_other_pool_names_keeps_its_database(
    clusters: Clusters, stateward: Sandbox
) -> None:
    await clusters.apply(NAME, version=VERSION, pools=[MANAGERS, HOT])
    before = await clusters.until(NAME, settled, seconds=600)
    database = clusters.database(NAME)
    await database.create_index("docs", replicas=0)
    writer = Writer(database, "docs")
    writer.acknowledged |= {await writer.write(number) for number in range(200)} - {""}
    assert writer.acknowledged
    kubectl(stateward, "-n", clusters.namespace, "delete", "oscluster", NAME, "--cascade=foreground")

    await clusters.apply(NAME, version=VERSION, pools=[MASTERS, WARM])
    managers = [f"{NAME}-managers-{n}" for n in range(3)]
    found = await clusters.until(NAME, asked_for(*managers), seconds=120)
    assert found.status.bootstrap is None
    waiting = next(w for w in found.status.waiting if w.subject == managers[0])
    assert "it can only be used with pool managers in the spec" in waiting.message

    await clusters.apply(NAME, version=VERSION, pools=[MANAGERS, MASTERS, WARM])
    data = [f"{NAME}-hot-{n}" for n in range(2)]
    formed = await clusters.until(NAME, asked_for(*data), seconds=600)
    assert formed.status.cluster_uuid == before.status.cluster_uuid

    await clusters.apply(NAME, version=VERSION, pools=[MANAGERS, MASTERS, HOT, WARM])
    await clusters.until(NAME, settled, seconds=600)
    await clusters.apply(NAME, version=VERSION, pools=[MASTERS, WARM])
    after = await clusters.until(NAME, settled, seconds=900)
    assert after.status.cluster_uuid == before.status.cluster_uuid
    assert {name.split("-")[1] for name in await database.versions()} == {"masters", "warm"}
    assert await writer.missing() == set()
    assert await database.left_behind() == {}
