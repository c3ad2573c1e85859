"""OpenSearch 3 on real processes: a cluster comes to it from the last 2.x."""

import pytest

from tests.e2e.clusters import Clusters
from tests.e2e.lives import Life
from tests.e2e.operators import OperatorPods

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.mark.images("opensearch:2.19.5", "opensearch:3.4.0")
async def test_a_cluster_lives_on_through_the_upgrade_to_3(clusters: Clusters, operator: OperatorPods) -> None:
    await Life(clusters, operator, "2.19.5", "3.4.0", ("cluster_manager", "data", "ingest")).plain()
