"""A pod that was given the cluster file of before: its processes find the database once the right one arrives."""

import asyncio
import base64
import json
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, settled
from tests.e2e.foundationdb.database import FILE, Fdb, pools
from tests.e2e.operators import DEPLOYED, NAMESPACE, kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD = "7.1.57"
MEMBER = "lost-stateless-1"
POD = f"{MEMBER}-0"
SECRET = "lost-cluster-file"
SHOWN = "/stateward/cluster/fdb.cluster"


@pytest.mark.images(f"foundationdb:{OLD}")
async def test_a_pod_with_the_cluster_file_of_before_finds_the_database_when_the_right_one_arrives(
    stateward: Sandbox, clusters: Clusters, fdb: Fdb
) -> None:
    await clusters.apply("lost", version=OLD, pools=pools())
    found = await clusters.until("lost", settled, seconds=300)
    assert found.status.connection_secret_name == SECRET
    assert found.status.connection == ""
    right = kept(stateward, clusters)
    wrong = f"{right.partition(':')[0]}:before@lost-gone-0.lost-members.{clusters.namespace}.svc:4500"
    async with nobody_operates(stateward):
        give(stateward, clusters, wrong)
        await shows(stateward, clusters, SHOWN, wrong)
        # As on a new volume: with a file of its own whose coordinators answer, the pod would rightly keep that.
        kubectl(stateward, "exec", "-n", clusters.namespace, POD, "-c", "foundationdb", "--", "rm", FILE)
        kubectl(stateward, "delete", "-n", clusters.namespace, "pod", POD)
        await shows(stateward, clusters, FILE, wrong)
        await fdb.until_listed("lost", lambda members: MEMBER not in members)
        give(stateward, clusters, right)
        await fdb.until_listed("lost", lambda members: MEMBER in members)
        # The others had the right one all the time, and went on.
        pods = [pod for pod in (await clusters.pods("lost")) if restarted(stateward, clusters, f"{pod}-0")]
        assert pods == [MEMBER]
    await clusters.until("lost", settled, seconds=180)


@asynccontextmanager
async def nobody_operates(sandbox: Sandbox) -> AsyncGenerator[None]:
    """Take the operator away while the block runs: it would put the Secret right at once."""
    kubectl(sandbox, "-n", NAMESPACE, "scale", DEPLOYED, "--replicas=0")
    operator = "app.kubernetes.io/component=operator"
    kubectl(sandbox, "-n", NAMESPACE, "wait", "--for=delete", "pod", "-l", operator, "--timeout=60s")
    try:
        yield
    finally:
        kubectl(sandbox, "-n", NAMESPACE, "scale", DEPLOYED, "--replicas=1")
        kubectl(sandbox, "-n", NAMESPACE, "rollout", "status", DEPLOYED, "--timeout=120s")


def kept(sandbox: Sandbox, clusters: Clusters) -> str:
    """Return the cluster file as the Secret has it."""
    where = ["get", "-n", clusters.namespace, "secret", SECRET, "-o", r"jsonpath={.data.fdb\.cluster}"]
    return base64.b64decode(kubectl(sandbox, *where)).decode().strip()


def give(sandbox: Sandbox, clusters: Clusters, connection: str) -> None:
    """Let the Secret of the cluster file say this."""
    patch = json.dumps({"stringData": {"fdb.cluster": f"{connection}\n"}})
    kubectl(sandbox, "patch", "-n", clusters.namespace, "secret", SECRET, "--type=merge", "-p", patch)


async def shows(sandbox: Sandbox, clusters: Clusters, file: str, connection: str) -> None:
    """Wait until a file in the pod says this, whichever pod it is by then."""
    words = ["exec", "-n", clusters.namespace, POD, "-c", "foundationdb", "--", "cat", file]
    async with asyncio.timeout(180):
        while True:
            try:
                if connection in await asyncio.to_thread(sandbox.kubectl, *words):
                    return
            except subprocess.CalledProcessError:
                pass  # It is not there yet.
            await asyncio.sleep(1)


def restarted(sandbox: Sandbox, clusters: Clusters, pod: str) -> bool:
    """Return whether the start script of a pod has started its processes again with another cluster file."""
    log = kubectl(sandbox, "logs", "-n", clusters.namespace, pod, "-c", "foundationdb")
    return "start again with those of now" in log
