"""A namespace on a real API server, with an operator that manages installations in it."""

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from stateward.kube.client.client import Api, PatchKind
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.timing.clock import SystemClock
from stateward.operator.installations.controller import InstallationControl, Setting
from stateward.operator.installations.objects.views import INSTALLATIONS, PACKAGES
from stateward.operator.restarts.views import WORKLOADS
from stateward.packages.distribution.archive import pack
from stateward.packages.format.reading import read_package
from tests.integration.api_server import PATIENCE, finish_jobs, run_pods
from tests.integration.shipped import bind, ship, subject
from tests.support.background import at_work
from tests.unit.packages.samples import files

DEPLOYMENTS = WORKLOADS["Deployment"].raw()


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
        """Wait until an installation matches its spec."""
        return await self.until(INSTALLATIONS, name, is_ready)

    async def allow(self) -> None:
        """Grant the account of installations the documented rights."""
        await ship(self.api)
        await bind(self.api, self.namespace, "stateward-packages", subject(self.namespace, "default"))

    @asynccontextmanager
    async def operator(self) -> AsyncGenerator[InstallationControl]:
        await self.allow()
        clock = SystemClock()
        recorder = EventRecorder(self.api, "stateward.dev/test", "test", clock=clock)
        control = InstallationControl(
            Setting(self.api, recorder, clock, self.namespace, (self.namespace,), execute=lambda _user: _written)
        )
        pods = run_pods(self.api, self.namespace)
        async with at_work(recorder.run(), control.run(), pods, finish_jobs(self.api, self.namespace)):
            yield control


async def _written(pod: Key, container: str, command: Sequence[str], limit: int) -> bytes:
    """Return the output of a pod that did not run."""
    return f"{container}: {' '.join(command)}"[:limit].encode()


def is_ready(body: dict[str, Any] | None) -> bool:
    if body is None:
        return False
    status = body.get("status", {})
    seen = status.get("observedGeneration") == body["metadata"]["generation"]
    return seen and any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))
