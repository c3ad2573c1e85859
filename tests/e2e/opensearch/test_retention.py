"""`volumes.whenDeleted` is obeyed on a cluster that is there: what it says last decides about the volumes."""

import json
from typing import Any

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.operators import kubectl
from tests.e2e.witness import Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5")]

NAME = "kept"
NODES = pool("nodes", 3, "cluster_manager", "data", "ingest")
CLUSTER = f"stateward.dev/cluster={NAME}"


def spec(on_delete: str) -> dict[str, Any]:
    return {"version": "2.19.5", "pools": [NODES], "volumes": {"whenDeleted": on_delete}}


async def test_the_last_policy_decides_about_the_volumes(clusters: Clusters, stateward: Sandbox) -> None:
    def volumes() -> dict[str, str]:
        found = json.loads(kubectl(stateward, "-n", clusters.namespace, "get", "pvc", "-l", CLUSTER, "-o", "json"))
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in found["items"]}

    def delete() -> None:
        kubectl(stateward, "-n", clusters.namespace, "delete", "oscluster", NAME, "--cascade=foreground")

    await clusters.apply(NAME, **spec("Delete"))
    await clusters.until(NAME, settled, seconds=600)
    await clusters.database(NAME).create_index("docs")
    async with Writer(clusters.database(NAME), "docs") as writer:
        await clusters.apply(NAME, **spec("Retain"))
        await clusters.until(NAME, settled, seconds=120)
    before = volumes()
    delete()
    assert volumes() == before
    assert len(before) == 3

    await clusters.apply(NAME, **spec("Retain"))
    await clusters.until(NAME, settled, seconds=600)
    assert volumes() == before
    assert await writer.missing() == set()

    await clusters.apply(NAME, **spec("Delete"))
    await clusters.until(NAME, settled, seconds=120)
    delete()
    kubectl(stateward, "-n", clusters.namespace, "wait", "pvc", "-l", CLUSTER, "--for=delete", "--timeout=120s")
    assert volumes() == {}
