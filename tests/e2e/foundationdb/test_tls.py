"""A cluster with TLS: nothing is said without a certificate, and the processes take new ones while they run."""

import asyncio
import base64
import subprocess
from datetime import UTC, datetime

import pytest

from sandbox import Sandbox
from stateward import pki
from tests.e2e.clusters import Clusters, settled
from tests.e2e.foundationdb.database import FILE, Fdb, Watch, pools
from tests.e2e.operators import kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD = "7.1.57"
NAME = "safe"
SECURITY = {"enabled": True, "certificateLifetime": "6m"}
BARE = (
    "PATH=/stateward/run/programs:$PATH; unset FDB_TLS_CERTIFICATE_FILE; fdbcli -C {file} --timeout 10 --exec '{what}'"
)


def secret(sandbox: Sandbox, clusters: Clusters, name: str, file: str) -> str:
    """Return a file of a Secret."""
    path = "jsonpath={.data." + file.replace(".", r"\.") + "}"
    where = ["get", "-n", clusters.namespace, "secret", f"{NAME}-{name}", "-o", path]
    return base64.b64decode(kubectl(sandbox, *where)).decode()


async def renewed(sandbox: Sandbox, clusters: Clusters, before: str) -> None:
    """Wait until the members' certificate is another one, and the first has ended."""
    async with asyncio.timeout(600):
        while secret(sandbox, clusters, "tls", "tls.crt") == before or pki.ends(before) > now():
            await asyncio.sleep(2)


def now() -> float:
    return datetime.now(UTC).timestamp()


@pytest.mark.images(f"foundationdb:{OLD}")
async def test_certificates_are_requested_and_renewed_while_processes_run(
    stateward: Sandbox, clusters: Clusters, fdb: Fdb
) -> None:
    await clusters.apply(NAME, version=OLD, pools=pools(), security=SECURITY)
    made = await clusters.until(NAME, settled, seconds=300)
    assert made.status.security is not None
    assert made.status.security.enabled
    assert made.status.security.client_secret_name == f"{NAME}-client-tls"
    found = (await fdb.status(NAME))["cluster"]["processes"].values()
    assert found
    assert all(process["address"].endswith(":tls") for process in found)
    assert secret(stateward, clusters, "cluster-file", "fdb.cluster").count(":tls") == 3
    plain(stateward, clusters)

    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods(NAME)).items()}
    uptime = min(process["uptime_seconds"] for process in found)
    first = secret(stateward, clusters, "tls", "tls.crt")
    started = now() - uptime
    async with Watch(fdb, NAME) as watch:
        await renewed(stateward, clusters, first)
        await asyncio.sleep(30)
        processes = await fdb.processes(NAME)
        assert len(processes) == 8
        assert all(now() - process["uptime_seconds"] < started + 60 for process in processes.values())
        assert {name: pod.metadata.uid for name, pod in (await clusters.pods(NAME)).items()} == pods
        # A member that comes now has nothing but the new certificate, and one that stays has not restarted.
        leaves = min(await fdb.coordinators(NAME))
        members = {"replace": [leaves]}
        await clusters.apply(NAME, version=OLD, pools=pools(), security=SECURITY, members=members)
        await clusters.until(
            NAME, lambda c: settled(c) and leaves not in {m.name for m in c.status.member_states}, seconds=300
        )
        assert leaves not in await fdb.coordinators(NAME)
    assert watch.broken == []
    assert await fdb.excluded(NAME) == []

    # Another value is reported, and has no effect.
    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods(NAME)).items()}
    await clusters.apply(NAME, version=OLD, pools=pools(), security={"enabled": False})
    await clusters.until(NAME, lambda c: any(w.reason == "SecurityFixed" for w in c.status.waiting), seconds=60)
    await asyncio.sleep(20)
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods(NAME)).items()} == pods
    await clusters.apply(NAME, version=OLD, pools=pools(), security=SECURITY)
    await clusters.until(NAME, settled, seconds=120)


def plain(sandbox: Sandbox, clusters: Clusters) -> None:
    """Assert that a command line without a certificate reaches no process."""
    script = BARE.format(file=FILE, what="coordinators")
    where = ["exec", "-n", clusters.namespace, f"{NAME}-log-0-0", "-c", "foundationdb", "--"]
    with pytest.raises(subprocess.CalledProcessError):
        sandbox.kubectl(*where, "sh", "-c", script, timeout=60)
