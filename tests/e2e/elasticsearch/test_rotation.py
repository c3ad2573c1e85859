"""A given authority is followed by another one on real Elasticsearch, with both trusted meanwhile."""

from pathlib import Path

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods
from tests.e2e.rotated import rotate

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.mark.images("elasticsearch:8.19.4")
async def test_one_ca_follows_another_without_a_restart(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, tmp_path: Path
) -> None:
    await rotate(clusters, stateward, operator, tmp_path, "8.19.4", ("master", "data", "ingest"))
