"""OpenSearch 3 on real processes: a cluster comes to it from the last 2.x."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters
from tests.e2e.lives import Life
from tests.e2e.operators import OperatorPods

pytestmark = [pytest.mark.e2e, pytest.mark.full]

ROLES = ("cluster_manager", "data", "ingest")


@pytest.mark.images("opensearch:2.19.5", "opensearch:3.4.0")
async def test_a_cluster_lives_on_through_the_upgrade_to_3(clusters: Clusters, operator: OperatorPods) -> None:
    await Life(clusters, operator, "2.19.5", "3.4.0", ROLES).plain()


@pytest.mark.images("opensearch:2.19.3", "opensearch:3.4.0")
async def test_a_secured_cluster_lives_on_through_the_upgrade_to_3(
    clusters: Clusters, securing: Sandbox, operator: OperatorPods
) -> None:
    await Life(clusters, operator, "2.19.3", "3.4.0", ROLES).secured(securing)
