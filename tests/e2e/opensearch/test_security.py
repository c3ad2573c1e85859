"""Secured clusters on real OpenSearch: born with TLS and one user, switched with data, certificates renewed."""

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
from stateward.api import names
from stateward.api.cluster import SearchCluster
from stateward.kube import resources as kinds
from stateward.kube.errors import ApiError
from stateward.kube.http_client import HttpApi
from stateward.kube.metadata import Key
from stateward.planning.times import parse_time
from tests.e2e.clusters import Clusters, condition, pool, settled
from tests.e2e.operators import OperatorPods

pytestmark = [pytest.mark.e2e, pytest.mark.full]

SECURED = "2.19.3"


@dataclass
class Client:
    """A client as people have: it trusts the cluster's CA, verifies the name, and has the administrator's password."""

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
            return answer.status, json.loads(text) if text.startswith("{") else text


async def secret(api: HttpApi, namespace: str, name: str) -> dict[str, str]:
    found = await api.get(kinds.SECRETS.raw(), Key(namespace, name))
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


@asynccontextmanager
async def client(sandbox: Sandbox, clusters: Clusters, name: str, *, known: bool = True) -> AsyncGenerator[Client]:
    trusted = (await secret(clusters.api, clusters.namespace, f"{name}-ca"))["ca.crt"]
    person = await secret(clusters.api, clusters.namespace, f"{name}-admin")
    host = f"{name}.{clusters.namespace}.svc"
    headers = {"Authorization": aiohttp.encode_basic_auth(person["username"], person["password"])} if known else {}
    with sandbox.relay(host, 9200) as port:
        async with aiohttp.ClientSession() as session:
            yield Client(
                session, f"https://127.0.0.1:{port}", host, ssl.create_default_context(cadata=trusted), headers
            )


def ready(cluster: SearchCluster) -> bool:
    security = cluster.status.security
    return settled(cluster) and security is not None and security.administrator


def open_again(cluster: SearchCluster) -> bool:
    security = cluster.status.security
    return settled(cluster) and security is not None and not security.enabled


@pytest.mark.images("opensearch:2.19.3")
async def test_a_secured_cluster_lives_and_its_certificates_are_renewed_without_a_restart(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    """Nobody gets in without a password, a renewal restarts nothing, and the operator may be killed meanwhile."""
    nodes = pool("nodes", 2, "cluster_manager", "data", "ingest")
    security = {"enabled": True, "certificateLifetime": "6m"}
    await clusters.apply("safe", version=SECURED, pools=[nodes], security=security)
    born = await clusters.until("safe", ready, seconds=600)
    assert born.status.health == "green"
    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods("safe")).items()}
    async with client(stateward, clusters, "safe", known=False) as stranger:
        assert (await stranger.ask("_cat/indices"))[0] == 401
    async with client(stateward, clusters, "safe") as person:
        settings = {"settings": {"number_of_replicas": 1}}
        assert (await person.ask("docs", "PUT", settings))[0] == 200
        for number in range(20):
            assert (await person.ask(f"docs/_doc/{number}", "PUT", {"n": number}))[0] == 201

    before = born.status.security
    assert before is not None
    await operator.kill()

    def renewed(cluster: SearchCluster) -> bool:
        now = cluster.status.security
        return now is not None and now.mark != before.mark and settled(cluster)

    after = await clusters.until("safe", renewed, seconds=420)
    assert after.status.security is not None
    ends = parse_time(after.status.security.certificates_expire) or 0.0
    assert ends > (parse_time(before.certificates_expire) or 0.0)
    await shown(clusters, stateward, "safe", ends)
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods("safe")).items()} == pods
    async with client(stateward, clusters, "safe") as person:
        assert (await person.ask("docs/_refresh", "POST"))[0] == 200
        assert (await person.ask("docs/_count"))[1]["count"] == 20


async def shown(clusters: Clusters, sandbox: Sandbox, name: str, ends: float) -> None:
    """Wait until the database shows the certificate that ends then."""
    async with asyncio.timeout(120):
        while True:
            async with client(sandbox, clusters, name) as person:
                status, answer = await person.ask("")
                assert status == 200, answer
                _, writer = await asyncio.open_connection(
                    "127.0.0.1", int(person.url.rpartition(":")[2]), ssl=person.trust, server_hostname=person.name
                )
                found = writer.get_extra_info("peercert")["notAfter"]
                writer.close()
                if abs(ssl.cert_time_to_seconds(found) - ends) < 2:
                    return
            await asyncio.sleep(2)


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


@pytest.mark.images("opensearch:2.19.3")
async def test_security_is_switched_on_and_off_with_data_in_kept_pods(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    """The same pods at the same addresses, and every document, though the operator dies in the middle each time."""
    spec: dict[str, Any] = {"version": SECURED, "pools": [pool("nodes", 3, "cluster_manager", "data", "ingest")]}
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
    settings = await plain.settings()
    assert not any(key.startswith(("cluster.routing.allocation", "cluster.metadata.stateward")) for key in settings)


@pytest.mark.images("opensearch:2.19.3")
async def test_a_secret_that_cannot_be_used_is_named_and_nothing_is_made(clusters: Clusters) -> None:
    nodes = pool("nodes", 1, "cluster_manager", "data")
    await clusters.apply("unsafe", version=SECURED, pools=[nodes], security={"enabled": True, "caSecretName": "none"})
    refused = await clusters.until("unsafe", lambda c: condition(c, "Stalled") == "True", seconds=60)
    assert any("there is no such Secret" in wait.message for wait in refused.status.waiting)
    assert await clusters.pods("unsafe") == {}
