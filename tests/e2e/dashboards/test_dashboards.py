"""Dashboards beside real databases: a stand-in that insists on its configuration, real credentials, a real upgrade.

The images of OpenSearch Dashboards and Kibana are stand-ins (`sandbox/dashboards`); databases, users, tokens and saved
objects are real.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.kube.client.client import PatchKind
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Selection
from stateward.operator.objects.kinds import ELASTICSEARCH
from tests.e2e.beside import require_gone
from tests.e2e.clusters import Clusters, pool
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import Client, client, ready, secret

pytestmark = [pytest.mark.e2e, pytest.mark.full]

RESOURCES = {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}


def available(version: str, instances: int) -> Any:
    """Return what holds once instances of a version serve and wait for nothing."""

    def holds(cluster: Cluster) -> bool:
        found = cluster.status.dashboards
        expected = (version, instances, True, "")
        return found is not None and (found.version, found.ready, found.available, found.reason) == expected

    return holds


@dataclass
class Witness:
    """Watches the pods of the dashboards and the members for the whole test."""

    api: HttpApi
    namespace: str
    name: str
    seen: list[set[str]] = field(default_factory=list[set[str]])
    ahead: list[str] = field(default_factory=list[str])

    async def dashboards(self) -> tuple[Pod, ...]:
        labels = f"stateward.dev/dashboards-of={self.name}"
        return (await self.api.list(kinds.PODS, Selection(self.namespace, labels=labels))).items

    async def watch(self) -> None:
        """Note the versions that run at once, and dashboards that are ahead of a member."""
        while True:
            versions = {pod.metadata.annotations["stateward.dev/version"] for pod in await self.dashboards()}
            if versions and versions not in self.seen:
                self.seen.append(versions)
            labels = f"stateward.dev/cluster={self.name}"
            members = (await self.api.list(kinds.PODS, Selection(self.namespace, labels=labels))).items
            for pod in members:
                theirs = pod.metadata.annotations["stateward.dev/version"]
                self.ahead += [f"{own} beside {theirs}" for own in versions if number(own) > number(theirs)]
            await asyncio.sleep(0.3)


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@asynccontextmanager
async def witnessed(clusters: Clusters, name: str) -> AsyncGenerator[Witness]:
    """Watch for a block, and require afterwards that no two versions ran at once and none was ahead."""
    witness = Witness(clusters.api, clusters.namespace, name)
    task = asyncio.create_task(witness.watch())
    try:
        yield witness
    finally:
        task.cancel()
    assert all(len(versions) == 1 for versions in witness.seen), witness.seen
    assert not witness.ahead


async def saved(person: Client, version: str) -> dict[str, Any]:
    """Return what the dashboards of a version have migrated in the database."""
    status, answer = await person.ask(f".kibana/_doc/migration-{version}")
    assert status == 200, answer
    return answer["_source"]


async def gone(clusters: Clusters, name: str) -> None:
    """Require that nothing of the dashboards is left but their keys."""
    labels = f"stateward.dev/dashboards-of={name}"
    await require_gone(clusters, labels, kinds.BUDGETS)
    (kept,) = (await clusters.api.list(kinds.SECRETS, Selection(clusters.namespace, labels=labels))).items
    assert kept.metadata.name == f"{name}-dashboards-keys"


@pytest.mark.images(
    "opensearch:2.19.1", "opensearch:2.19.3", "opensearch-dashboards:2.19.1", "opensearch-dashboards:2.19.3"
)
async def test_opensearch_dashboards_live_beside_a_secured_cluster_through_its_upgrade(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    nodes = pool("nodes", 2, "cluster_manager", "data", "ingest")
    spec: dict[str, Any] = {"version": "2.19.1", "pools": [nodes], "security": {"enabled": True}}
    asked: dict[str, Any] = {"replicas": 2, "resources": RESOURCES}
    await clusters.apply("logs", **spec, dashboards=asked)
    await clusters.until("logs", ready, seconds=600)
    await clusters.until("logs", available("2.19.1", 2), seconds=300)
    async with client(stateward, clusters, "logs") as person, witnessed(clusters, "logs") as witness:
        users = "_plugins/_security/api/internalusers/kibanaserver"
        assert (await person.ask(users))[0] == 200
        assert (await saved(person, "2.19.1"))["from"] == ""

        before = {pod.metadata.uid for pod in await witness.dashboards()}
        await clusters.apply("logs", **spec, dashboards={**asked, "config": {"server": {"maxPayload": 2000000}}})
        await clusters.until("logs", lambda c: not available("2.19.1", 2)(c), seconds=60)
        await operator.kill()
        await clusters.until("logs", available("2.19.1", 2), seconds=300)
        async with asyncio.timeout(60):
            while before & {pod.metadata.uid for pod in await witness.dashboards()}:
                await asyncio.sleep(0.5)

        newer = {**spec, "version": "2.19.3"}
        await clusters.apply("logs", **newer, dashboards=asked)
        await clusters.until("logs", lambda c: reason(c) == "DashboardsWaitForUpgrade", seconds=60)
        await clusters.until("logs", lambda c: reason(c) == "DashboardsStopping", seconds=900)
        await operator.kill()
        await clusters.until("logs", available("2.19.3", 2), seconds=300)
        assert (await saved(person, "2.19.3"))["from"] == "2.19.1"

        await clusters.apply("logs", **newer, dashboards={**asked, "replicas": 0})
        await clusters.until("logs", available("2.19.3", 0), seconds=120)
        assert not [pod for pod in await witness.dashboards() if not pod.metadata.terminating]
        await clusters.apply("logs", **newer, dashboards=asked)
        await clusters.until("logs", available("2.19.3", 2), seconds=300)

        password = (await secret(clusters.api, clusters.namespace, "logs-dashboards-keys"))["password"]
        await rotate(clusters, "logs", "password")
        await clusters.until("logs", lambda c: not available("2.19.3", 2)(c), seconds=120)
        await clusters.until("logs", available("2.19.3", 2), seconds=300)
        assert (await secret(clusters.api, clusters.namespace, "logs-dashboards-keys"))["password"] != password

        await clusters.apply("logs", **newer)
        await clusters.until("logs", lambda c: c.status.dashboards is None, seconds=180)
        await gone(clusters, "logs")
        assert (await person.ask(users))[0] == 404
        assert (await saved(person, "2.19.3"))["from"] == "2.19.1"


def reason(cluster: Cluster) -> str:
    return cluster.status.dashboards.reason if cluster.status.dashboards is not None else ""


async def rotate(clusters: Clusters, name: str, key: str) -> None:
    """Delete a credential from the Secret, as a person does that wants another one."""
    place = Key(clusters.namespace, f"{name}-dashboards-keys")
    await clusters.api.patch(kinds.SECRETS.raw(), place, {"data": {key: None}}, kind=PatchKind.MERGE)


class TestKibana:
    """Kibana beside Elasticsearch, whose image here cannot keep tokens: its security index needs a module it lacks."""

    @pytest.fixture
    def cluster_kind(self) -> Any:
        return ELASTICSEARCH

    @pytest.mark.images("elasticsearch:8.17.0", "elasticsearch:8.19.4", "kibana:8.17.0", "kibana:8.19.4")
    async def test_kibana_follows_the_upgrade_of_a_cluster_without_security(
        self, clusters: Clusters, stateward: Sandbox, operator: OperatorPods
    ) -> None:
        nodes = pool("nodes", 2, "master", "data", "ingest")
        spec: dict[str, Any] = {"version": "8.17.0", "pools": [nodes]}
        asked: dict[str, Any] = {"replicas": 1, "resources": RESOURCES}
        await clusters.apply("logs", **spec, dashboards=asked)
        await clusters.until("logs", available("8.17.0", 1), seconds=600)
        host = f"logs.{clusters.namespace}.svc"
        async with Client.plain(stateward, host) as person, witnessed(clusters, "logs"):
            assert (await saved(person, "8.17.0"))["from"] == ""
            newer = {**spec, "version": "8.19.4"}
            await clusters.apply("logs", **newer, dashboards=asked)
            await clusters.until("logs", lambda c: reason(c) == "DashboardsStopping", seconds=900)
            await operator.kill()
            await clusters.until("logs", available("8.19.4", 1), seconds=300)
            assert (await saved(person, "8.19.4"))["from"] == "8.17.0"
            await clusters.apply("logs", **newer)
            await clusters.until("logs", lambda c: c.status.dashboards is None, seconds=180)
            await gone(clusters, "logs")
            assert (await saved(person, "8.19.4"))["from"] == "8.17.0"
