"""Secured clusters in end-to-end tests: clients that verify whom they talk to, and the switch with data."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, Status, TransportError
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH
from tests.e2e.clusters import Clusters, Database, pool, settled
from tests.e2e.operators import OperatorPods

on_both_engines = pytest.mark.parametrize(
    ("cluster_kind", "version", "manager"),
    [
        pytest.param(OPENSEARCH, "2.19.3", "cluster_manager", marks=pytest.mark.images("opensearch:2.19.3")),
        pytest.param(ELASTICSEARCH, "8.19.4", "master", marks=pytest.mark.images("elasticsearch:8.19.4")),
    ],
    ids=["opensearch", "elasticsearch"],
)
"""Runs a case on each: the kind, a version that can be secured, and the role of a member that manages the cluster."""


def on_versions(*versions: str) -> pytest.MarkDecorator:
    """Run a case on each of these versions of OpenSearch, whose images can be secured."""
    images = [pytest.param(version, marks=pytest.mark.images(f"opensearch:{version}")) for version in versions]
    return pytest.mark.parametrize("version", images)


@dataclass
class Client:
    """A user's client: it trusts the cluster's CA, verifies the name, and has the administrator's password."""

    session: aiohttp.ClientSession
    url: str
    name: str
    trust: ssl.SSLContext
    headers: dict[str, str]

    async def ask(self, path: str, method: str = "GET", body: dict[str, Any] | None = None) -> tuple[int, Any]:
        async with self.session.request(
            method, f"{self.url}/{path}", json=body, headers=self.headers, ssl=self.trust, server_hostname=self.name
        ) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if text.startswith(("{", "[")) else text

    @staticmethod
    @asynccontextmanager
    async def plain(sandbox: Sandbox, host: str) -> "AsyncGenerator[Client]":
        """Give a client of a database without security."""
        with sandbox.relay(host, 9200) as port:
            async with aiohttp.ClientSession() as session:
                yield Client(session, f"http://127.0.0.1:{port}", host, ssl.create_default_context(), {})


@dataclass
class DirectDatabase(Database):
    """The database as a client sees it that connects to it, and not through the API server."""

    person: Client

    async def ask(self, path: str, method: str = "GET", body: dict[str, Any] | None = None) -> Any:
        """Send one request and return the decoded answer; raises ApiError."""
        try:
            async with asyncio.timeout(30):
                status, answer = await self.person.ask(path, method, body)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise TransportError(f"{method} {path}: {error!r}") from error
        if status >= 400:
            raise ApiError(f"{method} {path}: {answer}", status=Status(code=status))
        return answer


async def secret(api: HttpApi, namespace: str, name: str) -> dict[str, str]:
    found = await api.get(kinds.SECRETS.raw(), Key(namespace, name))
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


@asynccontextmanager
async def client(
    sandbox: Sandbox, clusters: Clusters, name: str, *, known: bool = True, company: str = ""
) -> AsyncGenerator[Client]:
    """Give a client that trusts the cluster's own CA, or the company's that has signed what clients are shown."""
    trusted = company or (await secret(clusters.api, clusters.namespace, f"{name}-ca"))["ca.crt"]
    person = await secret(clusters.api, clusters.namespace, f"{name}-admin")
    host = f"{name}.{clusters.namespace}.svc"
    headers = {"Authorization": aiohttp.encode_basic_auth(person["username"], person["password"])} if known else {}
    with sandbox.relay(host, 9200) as port:
        async with aiohttp.ClientSession() as session:
            yield Client(
                session, f"https://127.0.0.1:{port}", host, ssl.create_default_context(cadata=trusted), headers
            )


def ready(cluster: Cluster) -> bool:
    security = cluster.status.security
    return settled(cluster) and security is not None and security.administrator_created


def open_again(cluster: Cluster) -> bool:
    security = cluster.status.security
    return settled(cluster) and security is not None and not security.enabled


async def places(clusters: Clusters, name: str) -> dict[str, tuple[str, str, str]]:
    """Return where each member is: what a kept pod keeps."""
    pods = await clusters.pods(name)
    return {member: (p.metadata.uid, p.status.pod_ip, p.spec.node_name) for member, p in pods.items()}


async def reached(clusters: Clusters, name: str, phase: str) -> None:
    """Wait until a pod is in a phase of a restart."""
    async with asyncio.timeout(300):
        while not any(
            pod.metadata.annotations.get(names.ANNOTATION_PHASE) == phase
            for pod in (await clusters.pods(name)).values()
        ):
            await asyncio.sleep(0.1)


async def switch_on_and_off(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, version: str, roles: tuple[str, ...]
) -> None:
    """Require that pods, addresses and every document stay, though the operator dies in the middle each time."""
    spec: dict[str, Any] = {"version": version, "pools": [pool("nodes", 3, *roles)]}
    await clusters.apply("switched", **spec)
    await clusters.until("switched", settled, seconds=600)
    plain = clusters.database("switched")
    await plain.create_index("docs")
    for number in range(50):
        await plain.ask(f"docs/_doc/{number}", "PUT", {"n": number})
    before = await places(clusters, "switched")

    await clusters.apply("switched", **spec, security={"enabled": True})
    await reached(clusters, "switched", "stop-coordinated")
    await operator.kill()
    await clusters.until("switched", ready, seconds=600)
    assert await places(clusters, "switched") == before
    with pytest.raises(ApiError):
        await plain.health()
    async with client(stateward, clusters, "switched", known=False) as stranger:
        assert (await stranger.ask("docs/_count"))[0] == 401
    async with client(stateward, clusters, "switched") as person:
        for number in range(50, 80):
            assert (await person.ask(f"docs/_doc/{number}", "PUT", {"n": number}))[0] == 201
        await person.ask("docs/_refresh", "POST")
        assert (await person.ask("docs/_count"))[1]["count"] == 80

    await clusters.apply("switched", **spec, security={"enabled": False})
    await reached(clusters, "switched", "start-coordinated")
    await operator.kill()
    await clusters.until("switched", open_again, seconds=600)
    assert await places(clusters, "switched") == before
    await plain.ask("docs/_refresh", "POST")
    assert (await plain.ask("docs/_count"))["count"] == 80
    assert not (left := await plain.left_behind()), left
