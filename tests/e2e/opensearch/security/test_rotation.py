"""A given authority is followed by another one on real OpenSearch, with both trusted meanwhile."""

from pathlib import Path

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods
from tests.e2e.rotated import rotate
from tests.e2e.secured import on_versions

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@on_versions("2.19.3", "3.4.0")
async def test_one_ca_follows_another_without_a_restart(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, tmp_path: Path, version: str
) -> None:
    await rotate(clusters, stateward, operator, tmp_path, version, ("cluster_manager", "data", "ingest"))
