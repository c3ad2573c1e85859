"""Secured clusters on real Elasticsearch: switched on and off with data, by its own security."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import switch_on_and_off

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.mark.images("elasticsearch:8.19.4")
async def test_security_is_switched_on_and_off_with_data_in_kept_pods(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    await switch_on_and_off(clusters, stateward, operator, "8.19.4", ("master", "data", "ingest"))
