"""Scrapes of exporters through their Services, and the rights of an exporter in a secured database."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.kube.objects import resources as kinds
from tests.e2e.beside import require_gone
from tests.e2e.clusters import Clusters
from tests.e2e.secured import Client, client, secret

_READ = ("_nodes/stats/jvm", "_cluster/health")
"""What every exporter asks."""


@dataclass(frozen=True)
class Rights:
    """The user and the role of exporters in one product, and what they may not read."""

    user: str
    """The path of its users, without the number at their end."""
    role: str
    refused: tuple[str, ...]

    async def are_least(self, sandbox: Sandbox, clusters: Clusters, name: str) -> None:
        """Require that the exporter's user reads statistics, and nothing that others wrote."""
        keys = await secret(clusters.api, clusters.namespace, f"{name}-metrics-keys")
        async with client(sandbox, clusters, name, known=False) as stranger:
            stranger.headers = {"Authorization": aiohttp.encode_basic_auth(keys["username"], keys["password"])}
            for path in _READ:
                assert (await stranger.ask(path))[0] == 200, path
            for path in (*self.refused, self.role):
                assert (await stranger.ask(path))[0] in (401, 403), path

    async def are_gone(self, clusters: Clusters, name: str, person: Client) -> None:
        """Require that nothing of the exporter is left, in Kubernetes and in the database."""
        await nothing_left(clusters, name)
        for path in (f"{self.user}-1", f"{self.user}-2", self.role):
            assert (await person.ask(path))[0] == 404, path


_PLUGIN = "_plugins/_security/api"
OPENSEARCH = Rights(
    f"{_PLUGIN}/internalusers/stateward-metrics",
    f"{_PLUGIN}/roles/stateward-metrics",
    ("docs/_search", "_cluster/settings", "_cluster/state"),
)
ELASTICSEARCH = Rights(
    "_security/user/stateward-metrics", "_security/role/stateward-metrics", ("docs/_search", "_security/user")
)


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
