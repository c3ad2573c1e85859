"""Scrapes of exporters through their Services."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.kube.objects import resources as kinds
from tests.e2e.beside import require_gone
from tests.e2e.clusters import Clusters


def served(cluster: Cluster) -> bool:
    return cluster.status.metrics is not None and cluster.status.metrics.available


def total(text: str, metric: str) -> float:
    """Return the sum of all series of a metric; raises AssertionError if there is none."""
    found = re.findall(rf"^{metric}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
    assert found, f"{metric} is not in\n{text}"
    return sum(float(each) for each in found)


@asynccontextmanager
async def scraped(sandbox: Sandbox, clusters: Clusters, name: str) -> AsyncGenerator[Any]:
    """Give a function that scrapes the exporter through its Service."""
    with sandbox.relay(f"{name}-metrics.{clusters.namespace}.svc", 9114) as port:
        async with aiohttp.ClientSession() as session:

            async def scrape() -> str:
                async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
                    assert answer.status == 200
                    return await answer.text()

            yield scrape


async def nothing_left(clusters: Clusters, name: str) -> None:
    """Require that Kubernetes has nothing of the exporter."""
    await require_gone(clusters, f"stateward.dev/metrics-of={name}", kinds.NETWORK_POLICIES, kinds.SECRETS)
