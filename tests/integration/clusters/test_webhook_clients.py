"""The webhook on a real API server that shows a certificate: it gets through, and other clients do not."""

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from sandbox import Sandbox
from sandbox.kubernetes.controlplane import WEBHOOK_CLIENTS_CA
from stateward.api.kinds.cluster import Cluster
from stateward.kube.client.client import Api, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, Invalid
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.timing.clock import SystemClock
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.keys import SERVICE
from stateward.operator.admission.registration import CONFIGURATION, CONFIGURATIONS
from stateward.operator.admission.server import PATH, Webhook, open_webhook
from stateward.operator.objects.kinds import OPENSEARCH
from tests.integration.api_server import PATIENCE, define, own_namespace
from tests.unit.agent.authority import Authority

pytestmark = pytest.mark.integration
REFUSED = "no cluster is accepted here"
CLUSTERS = OPENSEARCH.resource
SLICES: Resource[dict[str, Any]] = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", dict[str, Any])


@dataclass
class Desk:
    """A namespace in which every cluster is refused, and the two ways to ask the webhook."""

    api: Api
    namespace: str
    webhook: Webhook
    port: int

    async def store(self) -> str:
        """Return what the API server says of a new cluster, which it asks the webhook about."""
        name = f"a{time.monotonic_ns()}"
        spec = {"version": "2.19.5", "pools": [{"name": "all", "replicas": 1}]}
        body = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "metadata": {"name": name}, "spec": spec}
        try:
            await self.api.create(CLUSTERS.raw(), body, namespace=self.namespace)
        except ApiError as error:
            return f"{type(error).__name__}: {error}"
        return "stored"

    async def ask(self, pair: tuple[Path, Path] | None) -> int:
        """Ask as a client with that certificate; raises ClientError when it gets no answer."""
        assert self.webhook.shown is not None
        context = ssl.create_default_context(cadata=self.webhook.shown.trusted)
        if pair is not None:
            context.load_cert_chain(*pair)
        name, url = f"{SERVICE}.{self.namespace}.svc", f"https://127.0.0.1:{self.port}{PATH}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, json={}, ssl=context, server_hostname=name) as answer,
        ):
            return answer.status


@asynccontextmanager
async def package_reviews(sandbox: Sandbox, client_ca: Path) -> AsyncGenerator[Desk]:
    async def judge(_new: Cluster, _old: Cluster | None) -> Verdict:
        return Verdict(refused=(REFUSED,))

    async with own_namespace(sandbox.kubeconfig_path, "clients") as (api, namespace):
        await define(api, CLUSTERS)
        webhook = Webhook(api, judge, namespace, SystemClock(), client_ca=client_ca)
        made = await api.create(CONFIGURATIONS, configuration(namespace))
        try:
            async with open_webhook(webhook, "127.0.0.1", 0) as port:
                await asyncio.wait_for(webhook.ready.wait(), PATIENCE)
                with sandbox.expose(port) as address:
                    await serve(api, namespace, address)
                    yield Desk(api, namespace, webhook, port)
        finally:
            whose = DeleteOptions(Preconditions(made["metadata"]["uid"]))
            await api.delete(CONFIGURATIONS, Key("", CONFIGURATION), whose)


def configuration(namespace: str) -> dict[str, Any]:
    """Return what the API server asks the webhook: about the clusters of one namespace, and nothing without it."""
    rules = {"apiGroups": ["stateward.dev"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    webhook = {
        "name": "clusters.stateward.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "rules": [rules],
        "clientConfig": {"service": {"name": SERVICE, "namespace": namespace, "path": PATH}},
    }
    head = {"apiVersion": CONFIGURATIONS.api_version, "kind": CONFIGURATIONS.kind}
    return {**head, "metadata": {"name": CONFIGURATION}, "webhooks": [webhook]}


async def serve(api: Api, namespace: str, address: str) -> None:
    """Have the Service of the webhook lead to an address."""
    service = {"metadata": {"name": SERVICE}, "spec": {"ports": [{"port": 443}]}}
    await api.create(kinds.SERVICES, {"apiVersion": "v1", "kind": "Service", **service}, namespace=namespace)
    host, _, port = address.rpartition(":")
    place: dict[str, Any] = {
        "apiVersion": SLICES.api_version,
        "kind": SLICES.kind,
        "metadata": {"name": SERVICE, "labels": {"kubernetes.io/service-name": SERVICE}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": [{"name": "", "port": int(port), "protocol": "TCP"}],
    }
    await api.create(SLICES, place, namespace=namespace)


async def settled(of: Desk, wanted: str) -> None:
    """Wait until the API server says this of a new cluster; it hears of webhooks and Services a little later."""
    deadline, said = time.monotonic() + PATIENCE, ""
    while wanted not in said:
        assert time.monotonic() < deadline, said
        said = await of.store()
        await asyncio.sleep(0.3)


async def test_the_api_server_connects_with_its_certificate_and_no_client_without_one(
    integration_sandbox: Sandbox, tmp_path: Path
) -> None:
    pki = integration_sandbox.layout.pki
    async with package_reviews(integration_sandbox, pki / f"{WEBHOOK_CLIENTS_CA}.crt") as of:
        await settled(of, REFUSED)
        assert (await of.store()).startswith(Invalid.__name__)
        assert await of.ask((pki / "webhook-client.crt", pki / "webhook-client.key")) == 200
        for pair in (
            None,
            (pki / "admin.crt", pki / "admin.key"),
            Authority(tmp_path / "others").issue(tmp_path / "o"),
        ):
            with pytest.raises(aiohttp.ClientError):
                await of.ask(pair)


async def test_an_api_server_whose_certificate_is_of_another_ca_is_a_client_like_any_other(
    integration_sandbox: Sandbox, tmp_path: Path
) -> None:
    other = Authority(tmp_path / "others")
    async with package_reviews(integration_sandbox, other.path) as of:
        await settled(of, "failed calling webhook")
        assert REFUSED not in await of.store()
        assert await of.ask(other.issue(tmp_path / "known")) == 200
