"""The own metrics of a real secured database, from a real exporter: no member changes, and nothing is left behind."""

import asyncio
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.kube.client.client import PatchKind
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from tests.e2e.clusters import Clusters, pool
from tests.e2e.lives import MEMORY
from tests.e2e.metrics.scraping import OPENSEARCH, scraped, served, total
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import client, on_versions, places, ready

pytestmark = [pytest.mark.e2e, pytest.mark.full]

STEP = 5.2
"""Seconds after which the exporter asks the database again."""


@on_versions("2.19.3", "3.4.0")
async def test_a_secured_cluster_shows_its_own_metrics_and_no_member_changes(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, version: str
) -> None:
    nodes = pool("nodes", 2, "cluster_manager", "data", "ingest", resources=MEMORY)
    spec: dict[str, Any] = {"version": version, "pools": [nodes], "security": {"enabled": True}}
    await clusters.apply("logs", **spec)
    await clusters.until("logs", ready, seconds=600)
    before = await places(clusters, "logs")

    await clusters.apply("logs", **spec, metrics={})
    await clusters.until("logs", lambda c: c.status.metrics is not None, seconds=60)
    await operator.kill()
    await clusters.until("logs", served, seconds=300)
    assert await places(clusters, "logs") == before

    async with client(stateward, clusters, "logs") as person, scraped(stateward, clusters, "logs") as scrape:
        first = await scrape()
        assert total(first, "stateward_database_up") == 1
        assert total(first, "stateward_database_nodes") == 2
        assert total(first, "stateward_database_node_info") == 2
        for number in range(40):
            assert (await person.ask(f"docs/_doc/{number}", "PUT", {"n": number}))[0] == 201
        await asyncio.sleep(STEP)
        second = await scrape()
        name = "stateward_database_indexing_total"
        assert total(second, name) - total(first, name) >= 40  # Replicas count what they did not recover as files.

        await OPENSEARCH.are_least(stateward, clusters, "logs")
        place = Key(clusters.namespace, "logs-metrics-keys")
        await clusters.api.patch(kinds.SECRETS.raw(), place, {"data": {"password": None}}, kind=PatchKind.MERGE)
        async with asyncio.timeout(300):
            while (await person.ask(f"{OPENSEARCH.user}-1"))[0] != 404:
                await asyncio.sleep(1)
        assert (await person.ask(f"{OPENSEARCH.user}-2"))[0] == 200
        await clusters.until("logs", served, seconds=300)

        await clusters.apply("logs", **spec)
        await clusters.until("logs", lambda c: c.status.metrics is None, seconds=180)
        await OPENSEARCH.are_gone(clusters, "logs", person)
    assert await places(clusters, "logs") == before
