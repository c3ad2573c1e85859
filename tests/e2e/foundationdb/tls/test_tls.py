"""A cluster with TLS: nothing is said without a certificate, and the processes take new ones while they run."""

import asyncio

import pytest

from tests.e2e.clusters import Clusters, settled
from tests.e2e.foundationdb.database import Fdb, Watch, pools
from tests.e2e.foundationdb.tls.certificates import SECURITY, as_client, as_stranger, now, renewed, secret

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD = "7.1.57"
NAME = "safe"


@pytest.mark.images(f"foundationdb:{OLD}")
async def test_certificates_are_requested_and_renewed_while_processes_run(clusters: Clusters, fdb: Fdb) -> None:
    await clusters.apply(NAME, version=OLD, pools=pools(), security=SECURITY)
    made = await clusters.until(NAME, settled, seconds=300)
    assert made.status.security is not None
    assert made.status.security.enabled
    assert made.status.security.client_secret_name == f"{NAME}-client-tls"
    found = (await fdb.status(NAME))["cluster"]["processes"].values()
    assert found
    assert all(process["address"].endswith(":tls") for process in found)
    assert secret(fdb, f"{NAME}-cluster-file", "fdb.cluster").count(":tls") == 3
    member = f"{NAME}-log-0-0"
    assert "Cluster coordinators (" in as_client(fdb, NAME, member, "coordinators")
    assert "Cluster coordinators (" not in as_stranger(fdb, member, "coordinators")

    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods(NAME)).items()}
    uptime = min(process["uptime_seconds"] for process in found)
    first = secret(fdb, f"{NAME}-tls", "tls.crt")
    started = now() - uptime
    async with Watch(fdb, NAME) as watch:
        await renewed(fdb, NAME, first)
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
