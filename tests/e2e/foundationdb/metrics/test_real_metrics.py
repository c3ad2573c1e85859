"""Metrics of real FoundationDB processes, whose programs the environment names: writes of clients are seen."""

import pytest

from sandbox import Sandbox
from sandbox.foundationdb import real
from tests.e2e.clusters import Clusters
from tests.e2e.foundationdb.database import Fdb
from tests.e2e.foundationdb.metrics.exporters import members_of, until, value
from tests.e2e.foundationdb.real_clusters import CHANGED, written
from tests.e2e.metrics.scraping import scraped, served
from tests.e2e.secured import places

VERSION = real.versions()[0]
pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images(f"foundationdb-real:{VERSION}")]


async def test_real_processes_show_the_writes_of_clients(clusters: Clusters, stateward: Sandbox, fdb: Fdb) -> None:
    async with written(clusters, fdb, "told", VERSION, metrics={}) as writer:
        await clusters.until("told", served, seconds=CHANGED)
        async with scraped(stateward, clusters, "told") as scrape:
            members = set(await places(clusters, "told"))
            # A new database places its data for a while, and only then reports all of itself.
            first = await until(scrape, lambda text: value(text, "data_healthy") == 1 and members_of(text) == members)
            assert value(first, "up") == value(first, "available") == 1
            writes = value(first, "writes_total")

            def wrote(text: str) -> bool:
                return value(text, "writes_total") > writes + 10 and len(writer.acknowledged) > 10

            second = await until(scrape, wrote)
            assert value(second, "transactions_committed_total") > value(first, "transactions_committed_total")
            assert value(second, "worst_queue_bytes") > 0
            assert value(second, "probe_seconds") > 0
            assert value(second, "process_memory_resident_bytes") > 1 << 20
