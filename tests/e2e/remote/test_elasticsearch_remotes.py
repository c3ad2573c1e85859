"""Search in another cluster with real Elasticsearch in pods."""

import pytest

from sandbox import Sandbox
from stateward.operator.objects.kinds import ELASTICSEARCH, ClusterKind
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods
from tests.e2e.remote.remotes import search_another

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.fixture
def cluster_kind() -> ClusterKind:
    return ELASTICSEARCH


@pytest.mark.images("elasticsearch:8.19.4")
async def test_one_secured_cluster_searches_another_across_restarts_until_it_is_taken_back(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    await search_another(clusters, stateward, operator, "8.19.4", "master", restarts=False)
