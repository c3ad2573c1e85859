"""Installations on a real API server: plans, restarts, drift, what is pruned, and their end."""

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from stateward.kube.client import Api, DeleteOptions, PatchKind, Preconditions
from stateward.kube.clock import SystemClock
from stateward.kube.errors import ApiError, Invalid, NotFound
from stateward.kube.events import EventRecorder
from stateward.kube.metadata import Key
from stateward.kube.resource import Resource, Selection
from stateward.kube.resources import CONFIG_MAPS, PODS, SERVICES
from stateward.operator.installations.control import InstallationControl, Setting
from stateward.operator.installations.views import INSTALLATIONS, PACKAGES
from stateward.operator.restarts.views import WORKLOADS
from stateward.packages.archive import pack
from stateward.packages.decision import ANNOTATION_TRIGGER
from stateward.packages.reading import read_package
from stateward.packages.restarts import ANNOTATION_BECAUSE
from tests.integration.ground import PATIENCE, ROOT, at_work, define, own_namespace, run_pods
from tests.unit.packages.samples import files

pytestmark = pytest.mark.integration
DEPLOYMENTS = WORKLOADS["Deployment"].raw()
JOBS: Resource[dict[str, Any]] = Resource("batch", "v1", "jobs", "Job", dict[str, Any])


class Place:
    """A namespace of its own with an operator; pods become Ready and jobs succeed as soon as they are there."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def package(self, name: str, content: Mapping[str, bytes] | None = None, **replaced: tuple[str, str]) -> None:
        content = content or files(None, **replaced)
        found = read_package(content)
        spec = {"name": found.name, "version": found.version, "archive": base64.b64encode(pack(content)).decode()}
        body = {"apiVersion": PACKAGES.api_version, "kind": "Package", "metadata": {"name": name}, "spec": spec}
        await self.api.create(PACKAGES, body, namespace=self.namespace)

    async def install(self, package: str, name: str = "web", **parameters: Any) -> None:
        spec = {"package": package, "parameters": parameters}
        body = {"apiVersion": PACKAGES.api_version, "kind": "Installation", "metadata": {"name": name}, "spec": spec}
        await self.api.create(INSTALLATIONS, body, namespace=self.namespace)

    async def change(self, name: str = "web", **spec: Any) -> None:
        await self.api.patch(INSTALLATIONS, self.key(name), {"spec": spec}, kind=PatchKind.MERGE)

    async def annotate(self, name: str, value: str) -> None:
        patch = {"metadata": {"annotations": {name: value}}}
        await self.api.patch(INSTALLATIONS, self.key("web"), patch, kind=PatchKind.MERGE)

    async def get(self, kind: Resource[Any], name: str) -> dict[str, Any] | None:
        try:
            return await self.api.get(kind.raw(), self.key(name))
        except NotFound:
            return None

    async def there(self, kind: Resource[Any], name: str) -> dict[str, Any]:
        found = await self.get(kind, name)
        assert found is not None, f"{kind.kind} {name} is not there"
        return found

    async def until(
        self, kind: Resource[Any], name: str, holds: Callable[[dict[str, Any] | None], object]
    ) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while not holds(found := await self.get(kind, name)):
            shown = await self.get(INSTALLATIONS, "web")
            assert time.monotonic() < deadline, (found or {}).get("status") or (shown or {}).get("status")
            await asyncio.sleep(0.1)
        return found or {}

    async def ready(self, name: str = "web") -> dict[str, Any]:
        """Wait until an installation is as it was last asked for."""
        return await self.until(INSTALLATIONS, name, _ready)

    @asynccontextmanager
    async def operator(self) -> AsyncGenerator[InstallationControl]:
        clock = SystemClock()
        recorder = EventRecorder(self.api, "stateward.dev/test", "test", clock=clock)
        control = InstallationControl(
            Setting(self.api, recorder, clock, lambda: None, self.namespace, (self.namespace,), execute=_written)
        )
        pods = run_pods(self.api, self.namespace)
        async with at_work(recorder.run(), control.run(), pods, self._finish_jobs()):
            yield control

    async def _finish_jobs(self) -> None:
        while True:
            with suppress(ApiError):
                for job in (await self.api.list(JOBS, Selection(self.namespace))).items:
                    await self._succeed(job)
            await asyncio.sleep(0.2)

    async def _succeed(self, job: dict[str, Any]) -> None:
        if job.get("status", {}).get("succeeded"):
            return
        for pod in (await self.api.list(PODS.raw(), Selection(self.namespace))).items:
            owners = pod["metadata"].get("ownerReferences", [])
            if any(owner["uid"] == job["metadata"]["uid"] for owner in owners):
                done = {"status": {"phase": "Succeeded"}}
                key = self.key(pod["metadata"]["name"])
                await self.api.patch(PODS, key, done, kind=PatchKind.MERGE, subresource="status")


async def _written(pod: Key, container: str, command: Sequence[str], limit: int) -> bytes:
    """Return what a pod has written that nobody has run."""
    return f"{container}: {' '.join(command)}"[:limit].encode()


def _ready(body: dict[str, Any] | None) -> bool:
    if body is None:
        return False
    status = body.get("status", {})
    seen = status.get("observedGeneration") == body["metadata"]["generation"]
    return seen and any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))


@pytest.fixture
async def place(control_plane: Path) -> AsyncGenerator[Place]:
    async with own_namespace(control_plane, "packages") as (api, namespace):
        await define(api, PACKAGES, INSTALLATIONS)
        yield Place(api, namespace)


async def test_the_life_of_an_installation(place: Place) -> None:
    await place.package("shop-1.2.0")
    await place.install("shop-1.2.0", COUNT=2)
    async with place.operator():
        body = await place.ready()
        assert [(run["plan"], run["stage"]) for run in body["status"]["history"]] == [("deploy", "Done")]
        first = (await place.there(DEPLOYMENTS, "web"))["spec"]["template"]

        await place.change(parameters={"COUNT": 3})
        await place.ready()
        live = await place.there(DEPLOYMENTS, "web")
        assert live["spec"]["replicas"] == 3
        assert live["spec"]["template"] == first

        await place.change(parameters={"MODE": "fast"})
        await place.ready()
        live = await place.there(DEPLOYMENTS, "web")
        assert live["spec"]["template"] != first
        assert live["metadata"]["annotations"][ANNOTATION_BECAUSE] == "ConfigMap/web-config:mode"
        second = live["spec"]["template"]

        await place.package("shop-1.3.0", operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"'))
        await place.change(package="shop-1.3.0")
        body = await place.ready()
        assert body["status"]["installed"]["version"] == "1.3.0"
        assert (await place.there(DEPLOYMENTS, "web"))["spec"]["template"] == second

        await place.annotate(ANNOTATION_TRIGGER, "backup/1")
        await place.until(INSTALLATIONS, "web", lambda body: body and body["status"].get("triggered") == "backup/1")
        await place.ready()
        assert await place.there(JOBS, "backup-job")

        body = await place.there(INSTALLATIONS, "web")
        await place.api.delete(INSTALLATIONS, place.key("web"), DeleteOptions(Preconditions(body["metadata"]["uid"])))
        await place.until(INSTALLATIONS, "web", lambda body: body is None)
        assert await place.get(DEPLOYMENTS, "web") is None
        assert await place.get(CONFIG_MAPS, "web-config") is None


async def test_what_others_change_is_put_right_and_what_is_not_rendered_any_more_goes(place: Place) -> None:
    await place.package("shop-1.2.0")
    await place.install("shop-1.2.0", EXTRA=True)
    async with place.operator():
        await place.ready()
        before = (await place.there(DEPLOYMENTS, "web"))["spec"]["template"]
        await place.api.patch(CONFIG_MAPS, place.key("web-config"), {"data": {"mode": "x"}}, kind=PatchKind.MERGE)
        await place.until(CONFIG_MAPS, "web-config", lambda body: body and body["data"]["mode"] == "slow")
        found = await place.there(SERVICES, "web-extra")
        exact = DeleteOptions(Preconditions(found["metadata"]["uid"]))
        await place.api.delete(SERVICES, place.key("web-extra"), exact)
        await place.until(SERVICES, "web-extra", lambda body: body)
        assert (await place.there(DEPLOYMENTS, "web"))["spec"]["template"] == before

        await place.package(
            "shop-1.4.0", operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.4.0"'), extra=("-extra}", "-more}")
        )
        await place.change(package="shop-1.4.0")
        await place.ready()
        assert await place.there(SERVICES, "web-more")
        assert await place.get(SERVICES, "web-extra") is None


async def test_a_package_cannot_be_changed(place: Place) -> None:
    await place.package("shop-1.2.0")
    patch = {"spec": {"version": "1.2.1"}}
    with pytest.raises(Invalid, match="a package cannot be changed"):
        await place.api.patch(PACKAGES, place.key("shop-1.2.0"), patch, kind=PatchKind.MERGE)


GIVEN = next((p / "shared/data/packages" for p in ROOT.parents if (p / "shared/data/packages").exists()), None)
"""Packages that are given to who builds this, where they are."""


@pytest.mark.parametrize("name", ["cowsay", "first-operator", "mysql", "redis"])
async def test_packages_of_others_are_installed_as_they_are(place: Place, name: str) -> None:
    if GIVEN is None:
        pytest.skip("the packages of others are not on this machine (../shared/data/packages)")
    content = {str(path.relative_to(GIVEN / name)): path.read_bytes() for path in (GIVEN / name).rglob("*.yaml")}
    await place.package(name, content)
    await place.install(name)
    async with place.operator():
        body = await place.ready()
    assert [(run["plan"], run["stage"]) for run in body["status"]["history"]] == [("deploy", "Done")]
