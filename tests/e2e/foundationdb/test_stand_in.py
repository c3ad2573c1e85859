"""The stand-in for FoundationDB runs in real pods: it forms a cluster, is configured, and survives its pods."""

import json
import subprocess
from typing import Any

import pytest

from sandbox import Sandbox
from sandbox.kubernetes.kubeapi import wait_for
from tests.e2e.sandbox import world

pytestmark = [pytest.mark.e2e, pytest.mark.full]


def told(sandbox: Sandbox, namespace: str, pod: str, command: str, *, check: bool = True) -> str:
    """Run a command in a pod as the operator does, and return what it printed."""
    words = ["exec", "-n", namespace, pod, "--", "fdbcli", "--timeout", "20", "--exec", command]
    return sandbox.kubectl(*words, check=check)


def status(sandbox: Sandbox, namespace: str, pod: str = "fdb-0") -> Any:
    try:
        return json.loads(told(sandbox, namespace, pod, "status json"))
    except subprocess.CalledProcessError:
        return {"client": {"database_status": {"available": False}}, "cluster": {}}


def whole(sandbox: Sandbox, namespace: str, pod: str = "fdb-0") -> bool:
    """Return whether the database serves, has all replicas, and has recovered."""
    cluster = status(sandbox, namespace, pod)["cluster"]
    recovered = cluster.get("recovery_state", {}).get("name") == "fully_recovered"
    return recovered and bool(cluster.get("full_replication"))


def test_three_pods_are_a_database_that_survives_each_of_them(sandbox: Sandbox, namespace: str) -> None:
    image = sandbox.load_image("foundationdb:7.1.67")
    names = ",".join(f"fdb-{number}.fdb.{namespace}.svc:4500" for number in range(3))
    world.apply(sandbox, "foundationdb.yaml", namespace, IMAGE=image, COORDINATORS=f"fdb:first@{names}")
    world.rolled_out(sandbox, namespace, "fdb", seconds=120)

    def never_made() -> bool:
        found = status(sandbox, namespace)["cluster"].get("recovery_state", {})
        return found.get("name") == "configuration_never_created"

    wait_for("a leader", never_made, seconds=60, pause=1)
    assert "Database created" in told(sandbox, namespace, "fdb-0", "configure new double ssd")
    wait_for("the database", lambda: whole(sandbox, namespace), seconds=60, pause=1)
    versions = {process["version"] for process in status(sandbox, namespace)["cluster"]["processes"].values()}
    assert versions == {"7.1.67"}

    # A pod comes back with another address, and with its data: nothing was made again elsewhere.
    before = sandbox.api.get(f"/api/v1/namespaces/{namespace}/pods/fdb-1")["status"]["podIP"]
    sandbox.kubectl("delete", "pod", "-n", namespace, "fdb-1")
    world.rolled_out(sandbox, namespace, "fdb", seconds=120)
    wait_for("the database", lambda: whole(sandbox, namespace), seconds=90, pause=1)
    assert sandbox.api.get(f"/api/v1/namespaces/{namespace}/pods/fdb-1")["status"]["podIP"] != before

    def three() -> bool:
        return len(status(sandbox, namespace, "fdb-1")["cluster"].get("processes", {})) == 3

    wait_for("the database misses the process under the old address", three, seconds=60, pause=1)

    # All at once, as for a change of knobs; their containers end, the command's own too, and are started again.
    told(sandbox, namespace, "fdb-2", "kill; kill all; sleep 1", check=False)
    wait_for("the database", lambda: whole(sandbox, namespace, "fdb-2"), seconds=120, pause=1)
