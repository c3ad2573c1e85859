"""OpenSearch 3 on real processes: a secured cluster comes to it from the last 2.x."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters
from tests.e2e.lives import SecuredLife
from tests.e2e.operators import OperatorPods

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.mark.images("opensearch:2.19.3", "opensearch:3.4.0")
async def test_a_secured_cluster_lives_on_through_the_upgrade_to_3(
    clusters: Clusters, securing: Sandbox, operator: OperatorPods
) -> None:
    roles = ("cluster_manager", "data", "ingest")
    await SecuredLife(clusters, operator, "2.19.3", "3.4.0", roles).run(securing)
