"""Elasticsearch 9 on real processes: a secured cluster comes to it from the last 8.x."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, condition, pool, settled
from tests.e2e.lives import MEMORY, Life
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import places

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.mark.images("elasticsearch:8.19.4", "elasticsearch:9.2.0")
async def test_a_secured_cluster_lives_on_through_the_upgrade_to_9(
    clusters: Clusters, securing: Sandbox, operator: OperatorPods
) -> None:
    roles = ("master", "data", "ingest")
    refused = {"9.0.8": "upgrade to 9.1.0 or a later 9.x instead"}
    await Life(clusters, operator, "8.19.4", "9.2.0", roles, refused).secured(securing)


@pytest.mark.images("elasticsearch:7.17.28", "elasticsearch:8.19.4", "elasticsearch:9.2.0")
async def test_an_index_of_7_is_a_reason_to_refuse_9_until_it_is_gone(clusters: Clusters) -> None:
    """Version 8 reads it and 9 does not: nothing is restarted for 9, and the upgrade begins once it is deleted."""
    nodes = [pool("nodes", 1, "master", "data", "ingest", resources=MEMORY)]
    for version in ("7.17.28", "8.19.4"):
        await clusters.apply("old", version=version, pools=nodes)
        await clusters.until("old", lambda c, v=version: settled(c) and c.status.version == v, seconds=600)
        await clusters.database("old").create_index(f"of-{version[0]}", replicas=0)
    before = await places(clusters, "old")
    await clusters.apply("old", version="9.2.0", pools=nodes)
    stalled = await clusters.until("old", lambda c: condition(c, "Stalled") == "True", seconds=120)
    told = [wait.message for wait in stalled.status.waiting if wait.reason == "DataTooOld"]
    assert told == ["9.2.0: it cannot read indices that 7.x has created: of-7; reindex or delete them first"]
    assert await places(clusters, "old") == before
    await clusters.database("old").ask("of-7", "DELETE")
    await clusters.until("old", lambda c: settled(c) and c.status.version == "9.2.0", seconds=600)
    assert (await clusters.database("old").ask("of-8/_count"))["count"] == 0
