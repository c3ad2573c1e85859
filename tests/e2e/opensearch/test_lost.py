"""The volumes of all managers are lost: no cluster forms automatically; after a user's confirmation, one does."""

import json
from typing import Any

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.operators import kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5")]

NAME = "lost"


def emptied(claim: dict[str, Any]) -> dict[str, Any]:
    """Return a claim of the same name for another volume, as a user creates it after a loss of disks."""
    meta = {key: claim["metadata"][key] for key in ("name", "namespace", "labels")}
    spec = {key: value for key, value in claim["spec"].items() if key != "volumeName"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


async def test_after_the_loss_of_all_volumes_and_a_users_confirmation_a_new_cluster_forms(
    clusters: Clusters, stateward: Sandbox
) -> None:
    await clusters.apply(NAME, version="2.19.5", pools=[pool("nodes", 3, "cluster_manager", "data", "ingest")])
    before = await clusters.until(NAME, settled, seconds=600)
    where = ("-n", clusters.namespace, "-l", f"stateward.dev/cluster={NAME}")
    claims = json.loads(kubectl(stateward, "get", "pvc", *where, "-o", "json"))
    kubectl(stateward, "delete", "pvc", *where, "--wait=false")
    kubectl(stateward, "delete", "pod", *where)
    kubectl(stateward, "wait", "pvc", *where, "--for=delete", "--timeout=120s")
    kubectl(
        stateward, "create", "-f", "-", stdin=json.dumps({**claims, "items": [emptied(c) for c in claims["items"]]})
    )
    asked = await clusters.until(NAME, lambda c: any(w.reason == "ManagersLost" for w in c.status.waiting))
    assert asked.status.cluster_uuid == before.status.cluster_uuid
    kubectl(
        stateward,
        *("-n", clusters.namespace, "annotate", "oscluster", NAME),
        "stateward.dev/bootstrap-again=accept-data-loss",
    )
    after = await clusters.until(
        NAME, lambda c: settled(c) and c.status.cluster_uuid not in ("", before.status.cluster_uuid), seconds=600
    )
    assert set(await clusters.database(NAME).versions()) == {f"{NAME}-nodes-{i}" for i in range(3)}
    assert "stateward.dev/bootstrap-again" not in after.metadata.annotations
    await clusters.database(NAME).create_index("docs")
    assert (await clusters.database(NAME).health())["number_of_nodes"] == 3
