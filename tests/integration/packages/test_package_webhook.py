"""The webhook on a real API server: what no schema can say of installations and packages is refused when stored."""

import asyncio
import base64
import ssl
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.engines.connection.access import show
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.errors import ApiError, Invalid
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.timing.clock import SystemClock
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.packages import PackageReviews
from stateward.operator.admission.registration import CONFIGURATIONS
from stateward.operator.admission.server import PATH_PACKAGES, Webhook
from stateward.operator.installations.objects.views import INSTALLATIONS, PACKAGES
from stateward.packages.distribution.archive import pack
from stateward.packages.format.reading import read_package
from stateward.pki import issue, new_authority
from tests.integration.api_server import PATIENCE, define, own_namespace
from tests.unit.packages.samples import files

pytestmark = pytest.mark.integration
NAME = "packages-under-test"


class Place:
    """A namespace of its own, on a server that asks the webhook about it."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    async def package(self, name: str, **replaced: tuple[str, str]) -> None:
        content = files(None, **replaced)
        found = read_package(content)
        archive = base64.b64encode(pack(content)).decode()
        spec = {"name": found.name, "version": found.version, "archive": archive, "digest": found.digest}
        body = {"apiVersion": PACKAGES.api_version, "kind": "Package", "metadata": {"name": name}, "spec": spec}
        await self.api.create(PACKAGES, body, namespace=self.namespace)

    async def install(self, package: str, name: str = "web", **parameters: Any) -> None:
        head = {"apiVersion": PACKAGES.api_version, "kind": "Installation", "metadata": {"name": name}}
        body = head | {"spec": {"package": package, "parameters": parameters}}
        await self.api.apply(INSTALLATIONS, Key(self.namespace, name), body, ApplyOptions("test", force=True))

    async def state(self, **status: Any) -> None:
        """Write a status, as the operator would."""
        key = Key(self.namespace, "web")
        patch = {"status": status}
        await self.api.patch(INSTALLATIONS, key, patch, kind=PatchKind.MERGE, subresource="status")


@pytest.fixture
async def place(integration_sandbox: Sandbox, control_plane: Path) -> AsyncGenerator[Place]:
    async with own_namespace(control_plane, "webhook") as (api, namespace):
        await define(api, PACKAGES, INSTALLATIONS)

        async def judge(_new: Cluster, _old: Cluster | None) -> Verdict:
            return Verdict()

        webhook = Webhook(api, judge, "x", SystemClock(), PackageReviews(api, ("",)))
        app = web.Application()
        app.add_routes([web.post(PATH_PACKAGES, webhook.answer_on_packages)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        try:
            with integration_sandbox.expose(runner.addresses[0][1]) as address:
                authority = new_authority("test", time.time(), 1.0).signs
                host = address.rpartition(":")[0]
                shown = issue(authority, host, [host], time.time())
                show(context, shown.certificate, shown.key)
                place = Place(api, namespace)
                await _register(api, address, authority.certificate, place)
                yield place
        finally:
            await _unregister(api)
            await runner.cleanup()


async def _register(api: Api, address: str, trusted: str, place: Place) -> None:
    """Tell the API server of the webhook, for this namespace alone, and wait until it asks."""
    rules = {"apiGroups": ["stateward.dev"], "apiVersions": ["v1alpha1"], "operations": ["CREATE", "UPDATE"]}
    webhook = {
        "name": "packages.stateward.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "timeoutSeconds": 10,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place.namespace}},
        "rules": [rules | {"resources": ["swinstallations", "swpackages"]}],
        "clientConfig": {
            "url": f"https://{address}{PATH_PACKAGES}",
            "caBundle": base64.b64encode(trusted.encode()).decode(),
        },
    }
    head = {"apiVersion": CONFIGURATIONS.api_version, "kind": CONFIGURATIONS.kind, "metadata": {"name": NAME}}
    await api.apply(CONFIGURATIONS, Key("", NAME), head | {"webhooks": [webhook]}, ApplyOptions("test", force=True))
    deadline = time.monotonic() + PATIENCE
    broken = {"name": "x", "version": "1", "archive": base64.b64encode(b"nothing").decode()}
    while True:
        assert time.monotonic() < deadline
        name = f"broken-{time.monotonic_ns()}"
        body = {"apiVersion": PACKAGES.api_version, "kind": "Package", "metadata": {"name": name}, "spec": broken}
        try:
            await api.create(PACKAGES, body, namespace=place.namespace)
        except Invalid:
            return
        except ApiError:
            pass  # The server does not serve the kind yet.
        await asyncio.sleep(0.3)


async def _unregister(api: Api) -> None:
    page = await api.list(CONFIGURATIONS, Selection())
    for found in page.items:
        if found["metadata"]["name"] == NAME:
            await api.delete(CONFIGURATIONS, Key("", NAME), DeleteOptions(Preconditions(found["metadata"]["uid"])))


async def test_wrong_parameters_are_refused_with_what_is_allowed(place: Place) -> None:
    await place.package("shop-1.2.0")
    with pytest.raises(Invalid, match=r"spec\.parameters\.COUNT: 'many': must be a whole number"):
        await place.install("shop-1.2.0", COUNT="many")
    with pytest.raises(Invalid, match=r"COUMT.*did you mean COUNT\?"):
        await place.install("shop-1.2.0", COUMT=3)
    await place.install("shop-1.2.0", COUNT=3, STORAGE="1Gi")
    digest = read_package(files()).digest
    values = {"COUNT": 3, "STORAGE": "1Gi"}
    await place.state(installed={"package": "shop-1.2.0", "digest": digest, "version": "1.2.0", "parameters": values})
    with pytest.raises(Invalid, match=r"STORAGE: '2Gi': cannot be changed once it is installed; it is '1Gi'"):
        await place.install("shop-1.2.0", COUNT=3, STORAGE="2Gi")
    with pytest.raises(Invalid, match="these parameters need different plans; change them one after the other:"):
        await place.install("shop-1.2.0", COUNT=4, STORAGE="1Gi", FILE="other.sql")
    await place.install("shop-1.2.0", COUNT=5, STORAGE="1Gi")


async def test_a_version_has_one_content_and_an_installation_may_come_before_its_package(place: Place) -> None:
    await place.install("shop-1.2.0", COUNT="many")
    await place.package("shop-1.2.0")
    with pytest.raises(Invalid, match=r"shop-1\.2\.0 is shop 1\.2\.0 already, with other content"):
        await place.package("other", app=("image: shop:", "image: store:"))
    await place.install("shop-1.2.0", COUNT="many", EXTRA=True)
    with pytest.raises(Invalid, match="MODE"):
        await place.install("shop-1.2.0", COUNT="many", MODE="never")
    await place.install("shop-1.2.0", COUNT=2)
