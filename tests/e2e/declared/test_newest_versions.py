"""Declared objects, snapshots and restores on the newest versions: OpenSearch 3, and a secured Elasticsearch 9.

The security plugin of OpenSearch 3 cannot be had for the sandbox.
"""

from typing import Any

import pytest

from sandbox import Sandbox
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH, ClusterKind
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.declared.objects import SearchObjects, live_and_die
from tests.e2e.declared.snapshots import LARGER, REPOSITORIES, save_and_restore
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import Client, client, ready

pytestmark = [pytest.mark.e2e, pytest.mark.full]

BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "component": ("componentTemplate/base", {"template": {"settings": {"number_of_replicas": 0}}}),
    "index-template": ("indexTemplate/logs", {"index_patterns": ["logs-*"], "composed_of": ["base"]}),
    "pipeline": ("ingestPipeline/clean", {"description": "cleans", "processors": []}),
    "settings": ("clusterSettings", {"persistent": {"search.max_buckets": 20000}}),
}


@pytest.mark.parametrize(
    ("cluster_kind", "version", "manager", "secured"),
    [
        pytest.param(OPENSEARCH, "3.4.0", "cluster_manager", False, marks=pytest.mark.images("opensearch:3.4.0")),
        pytest.param(ELASTICSEARCH, "9.2.0", "master", True, marks=pytest.mark.images("elasticsearch:9.2.0")),
    ],
    ids=["opensearch", "elasticsearch"],
)
async def test_objects_are_declared_and_documents_saved_and_restored(
    clusters: Clusters,
    stateward: Sandbox,
    operator: OperatorPods,
    cluster_kind: ClusterKind,
    version: str,
    manager: str,
    *,
    secured: bool,
) -> None:
    assert clusters.kind is cluster_kind
    nodes = pool("nodes", 1, manager, "data", "ingest", resources=LARGER)
    config = {"path.repo": [REPOSITORIES]}
    await clusters.apply("new", version=version, pools=[nodes], security={"enabled": secured}, config=config)
    await clusters.until("new", ready if secured else settled, seconds=600)
    host = f"new.{clusters.namespace}.svc"
    async with client(stateward, clusters, "new") if secured else Client.plain(stateward, host) as person:
        await live_and_die(SearchObjects(clusters, "new"), BODIES, person, operator)
        await save_and_restore(clusters, "new", person, operator)
