"""Declared objects, snapshots and restores on the newest versions: OpenSearch 3 and Elasticsearch 9, secured."""

import pytest

from sandbox import Sandbox
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH
from tests.e2e.clusters import Clusters, pool
from tests.e2e.declared.objects import BODIES, SearchObjects, live_and_die
from tests.e2e.declared.snapshots import LARGER, REPOSITORIES, save_and_restore
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import client, ready

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.mark.parametrize(
    ("cluster_kind", "version", "manager"),
    [
        pytest.param(OPENSEARCH, "3.4.0", "cluster_manager", marks=pytest.mark.images("opensearch:3.4.0")),
        pytest.param(ELASTICSEARCH, "9.2.0", "master", marks=pytest.mark.images("elasticsearch:9.2.0")),
    ],
    ids=["opensearch", "elasticsearch"],
)
async def test_objects_are_declared_and_documents_saved_and_restored(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, version: str, manager: str
) -> None:
    nodes = pool("nodes", 1, manager, "data", "ingest", resources=LARGER)
    config = {"path.repo": [REPOSITORIES]}
    await clusters.apply("new", version=version, pools=[nodes], security={"enabled": True}, config=config)
    await clusters.until("new", ready, seconds=600)
    async with client(stateward, clusters, "new") as person:
        await live_and_die(SearchObjects(clusters, "new"), BODIES, person, operator)
        await save_and_restore(clusters, "new", person, operator)
