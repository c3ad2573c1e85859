"""Real FoundationDB processes with TLS: certificates are renewed while they run, and no acknowledged key is lost."""

import asyncio
from typing import Any

import pytest

from sandbox import Sandbox
from sandbox.foundationdb import real
from tests.e2e.clusters import Clusters, settled
from tests.e2e.failing import ready
from tests.e2e.foundationdb.database import Fdb
from tests.e2e.foundationdb.keys import KEY, Writer
from tests.e2e.foundationdb.metrics.exporters import until, value
from tests.e2e.foundationdb.real_clusters import CHANGED, apply, written
from tests.e2e.foundationdb.tls.certificates import SECURITY, as_client, as_stranger, now, renewed, secret
from tests.e2e.metrics.scraping import scraped, served

VERSION = real.versions()[0]
NAME = "sealed"
SEALED: dict[str, Any] = {"security": SECURITY, "metrics": {}}
KEYS = "getrangekeys key/ key0 5"
SET = "writemode on; set other/key 1"
COMMITTED = "Committed ("
DENIED = "unauthorized data"
"""What 7.3 says to a client without a certificate, whose connection it accepts."""
pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images(f"foundationdb-real:{VERSION}")]


async def test_real_processes_take_new_certificates_while_they_run(
    clusters: Clusters, stateward: Sandbox, fdb: Fdb
) -> None:
    async with written(clusters, fdb, NAME, VERSION, **SEALED) as writer:
        await only_certificates_open_it(fdb, writer)
        await renew(clusters, fdb, writer)
        await the_exporter_reads(clusters, stateward)
        await restart_all_with_the_new_certificates(clusters, fdb)
        await replace_a_coordinator(clusters, fdb)
        await only_certificates_open_it(fdb, writer)


async def only_certificates_open_it(fdb: Fdb, writer: Writer) -> None:
    addresses = {process["address"] for process in (await fdb.processes(NAME)).values()}
    assert addresses
    assert all(address.endswith(":tls") for address in addresses)
    assert secret(fdb, f"{NAME}-cluster-file", "fdb.cluster").count(":tls") == 3
    async with asyncio.timeout(60):
        while not writer.acknowledged:
            await asyncio.sleep(1)
    member = f"{NAME}-log-0-0"
    assert KEY.search(await asyncio.to_thread(as_client, fdb, NAME, member, KEYS))
    assert COMMITTED in await asyncio.to_thread(as_client, fdb, NAME, member, SET)
    for command in (KEYS, SET):
        told = await asyncio.to_thread(as_stranger, fdb, member, command)
        assert DENIED in told
        assert not KEY.search(told)
        assert COMMITTED not in told


async def renew(clusters: Clusters, fdb: Fdb, writer: Writer) -> None:
    """Require that the same processes serve when the certificate that they started with has expired."""
    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods(NAME)).items()}
    starts = {m: now() - p["uptime_seconds"] for m, p in (await fdb.processes(NAME)).items()}
    first = secret(fdb, f"{NAME}-tls", "tls.crt")
    await renewed(fdb, NAME, first)
    written_before = len(writer.acknowledged)
    await asyncio.sleep(60)
    assert len(writer.acknowledged) > written_before + 5
    processes = await fdb.processes(NAME)
    assert set(processes) == set(starts)
    assert all(abs(now() - p["uptime_seconds"] - starts[m]) < 20 for m, p in processes.items())
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods(NAME)).items()} == pods


async def the_exporter_reads(clusters: Clusters, stateward: Sandbox) -> None:
    await clusters.until(NAME, served, seconds=CHANGED)
    async with scraped(stateward, clusters, NAME) as scrape:
        await until(scrape, lambda text: value(text, "up") == value(text, "available") == 1)


async def restart_all_with_the_new_certificates(clusters: Clusters, fdb: Fdb) -> None:
    await apply(clusters, NAME, VERSION, knobs={"max_shard_bytes": "500000"}, **SEALED)
    await clusters.until(NAME, settled, seconds=CHANGED)
    processes = await fdb.processes(NAME)
    assert len(processes) == 8
    assert all("--knob_max_shard_bytes=500000" in p["command_line"] for p in processes.values())


async def replace_a_coordinator(clusters: Clusters, fdb: Fdb) -> None:
    voter = min(name for name in await fdb.coordinators(NAME) if "storage" in name)
    members = {"replace": [voter]}
    await apply(clusters, NAME, VERSION, knobs={"max_shard_bytes": "500000"}, members=members, **SEALED)
    await clusters.until(NAME, lambda c: settled(c) and voter not in ready(c), seconds=CHANGED)
    assert voter not in await fdb.coordinators(NAME)
    await fdb.until_listed(NAME, lambda found: len(found) == 8 and voter not in found)
