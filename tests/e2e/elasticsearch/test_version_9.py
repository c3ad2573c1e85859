"""Elasticsearch 9 on real processes: a secured cluster comes to it from the last 8.x."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters
from tests.e2e.lives import SecuredLife
from tests.e2e.operators import OperatorPods

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.mark.images("elasticsearch:8.19.4", "elasticsearch:9.2.0")
async def test_a_secured_cluster_lives_on_through_the_upgrade_to_9(
    clusters: Clusters, securing: Sandbox, operator: OperatorPods
) -> None:
    roles = ("master", "data", "ingest")
    refused = {"9.0.8": "upgrade to 9.1.0 or a later 9.x instead"}
    await SecuredLife(clusters, operator, "8.19.4", "9.2.0", roles, refused).run(securing)
