"""A tenant of a shared server, with installations and packages in one namespace, and the operator as shipped."""

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from stateward.api.kinds.installation import Installation
from stateward.api.values.base import Condition
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.timing.clock import SystemClock
from stateward.operator.controls import accounts_of
from stateward.operator.installations.controller import InstallationControl, Setting
from stateward.operator.installations.execution.service_account import user
from stateward.operator.installations.objects.views import INSTALLATIONS, PACKAGES
from stateward.operator.runtime.options import OperatorOptions
from stateward.packages.distribution.archive import pack
from stateward.packages.format.reading import read_package
from stateward.packages.format.yamltext import to_yaml
from tests.integration.api_server import PATIENCE, define, own_namespace
from tests.integration.shipped import SYSTEM, bind, logged_in, may, person, ship
from tests.support.background import at_work

TENANT = "tenant"
T = TypeVar("T")


def package(*objects: dict[str, Any], version: int = 1, cleanup: dict[str, Any] | None = None) -> dict[str, bytes]:
    """Return a package that applies objects as they are, each in a step; `cleanup` is applied at the end."""
    bodies = {f"object{index}": body for index, body in enumerate(objects)} | ({"end": cleanup} if cleanup else {})
    tasks = [{"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}} for name in bodies]
    steps = {"deploy": [name for name in bodies if name != "end"]} | ({"cleanup": ["end"]} if cleanup else {})
    plans = {
        plan: {"phases": [{"name": "main", "steps": [{"name": name, "tasks": [name]} for name in names]}]}
        for plan, names in steps.items()
    }
    head = {"apiVersion": "kudo.dev/v1beta1", "name": "app", "operatorVersion": f"{version}.0.0", "tasks": tasks}
    files = {"operator.yaml": to_yaml(head | {"plans": plans})}
    files |= {f"templates/{name}.yaml": to_yaml(body) for name, body in bodies.items()}
    return {name: text.encode() for name, text in files.items()}


class Tenancy:
    """The namespace `home`: `tenant` may write installations in it, `admin` may write everything."""

    def __init__(self, admin: HttpApi, home: str) -> None:
        self.admin, self.home = admin, home
        self.tenant: Api = admin.acting_as(TENANT)

    async def install(
        self,
        *objects: dict[str, Any],
        name: str = "web",
        version: int = 1,
        end: Any = None,
        home: str = "",
        **spec: Any,
    ) -> None:
        """Have the tenant write a package of objects and an installation of it, or change the one there is."""
        await self.install_files(package(*objects, version=version, cleanup=end), name, version, home, **spec)

    async def install_files(
        self, content: dict[str, bytes], name: str = "web", version: int = 1, home: str = "", **spec: Any
    ) -> None:
        """Have the tenant write a package of files, and an installation of it."""
        called = f"{name}-{version}"
        found = read_package(content)
        archive = base64.b64encode(pack(content)).decode()
        body = {"apiVersion": PACKAGES.api_version, "kind": "Package", "metadata": {"name": called}}
        written = body | {"spec": {"name": found.name, "version": found.version, "archive": archive}}
        await self.tenant.create(PACKAGES, written, namespace=home or self.home)
        head = {"apiVersion": PACKAGES.api_version, "kind": "Installation", "metadata": {"name": name}}
        wanted = head | {"spec": {"package": called, **spec}}
        await self.tenant.apply(INSTALLATIONS, Key(home or self.home, name), wanted, ApplyOptions("tenant", force=True))

    async def change(self, name: str = "web", **spec: Any) -> None:
        await self.tenant.patch(INSTALLATIONS, Key(self.home, name), {"spec": spec}, kind=PatchKind.MERGE)

    async def delete(self, name: str = "web", home: str = "") -> None:
        exact = DeleteOptions(Preconditions((await self.live(name, home)).metadata.uid))
        await self.tenant.delete(INSTALLATIONS, Key(home or self.home, name), exact)

    async def get(self, kind: Resource[Any], name: str, namespace: str | None = None) -> dict[str, Any] | None:
        where = (self.home if namespace is None else namespace) if kind.namespaced else ""
        try:
            return await self.admin.get(kind.raw(), Key(where, name))
        except NotFound:
            return None

    async def live(self, name: str = "web", home: str = "") -> Installation:
        """Return an installation as the tenant sees it."""
        return await self.tenant.get(INSTALLATIONS, Key(home or self.home, name))

    async def refusal(self, *words: str, name: str = "web", home: str = "") -> str:
        """Wait until the tenant reads in the status that something is not allowed, in these words."""

        async def told() -> str:
            found = _condition(await self.live(name, home), "Stalled")
            held = found is not None and found.reason == "NotAllowed" and all(word in found.message for word in words)
            return found.message if found is not None and held else ""

        return await self.until(told, name, home)

    async def ready(self, name: str = "web") -> None:
        async def is_ready() -> bool:
            live = await self.live(name)
            seen = live.status.observed_generation == live.metadata.generation
            return seen and _condition(live, "Ready") is not None

        await self.until(is_ready, name)

    async def gone(self, name: str = "web", home: str = "") -> None:
        async def is_gone() -> bool:
            return await self.get(INSTALLATIONS, name, home or self.home) is None

        await self.until(is_gone, name, home)

    async def until(self, holds: Callable[[], Awaitable[T]], name: str = "web", home: str = "") -> T:
        """Wait until something holds, and return what it is then."""
        deadline = time.monotonic() + PATIENCE
        while not (found := await holds()):
            shown = await self.get(INSTALLATIONS, name, home or self.home)
            assert time.monotonic() < deadline, (shown or {}).get("status")
            await asyncio.sleep(0.1)
        return found

    async def may(self, verb: str, kind: Resource[Any], *, account: str = "", namespace: str | None = None) -> bool:
        """Return whether the tenant, or an account of the namespace, has a right."""
        where = self.home if namespace is None else namespace
        return await may(self.admin, user(self.home, account) if account else TENANT, verb, kind, where)


def _condition(live: Installation, kind: str) -> Condition | None:
    found = [c for c in live.status.conditions if c.type == kind and c.status == "True"]
    return found[0] if found else None


@asynccontextmanager
async def tenancy(control_plane: Path, *kinds: Resource[Any]) -> AsyncGenerator[Tenancy]:
    """Yield a namespace in which a tenant may do what `stateward-edit` and `stateward-view` allow, and nothing else.

    The operator is at work in it, and in its own namespace, with the rights of the manifests and no others.
    """
    async with own_namespace(control_plane, "tenant") as (admin, home):
        await define(admin, PACKAGES, INSTALLATIONS, *kinds)
        await ship(admin)
        for role in ("stateward-edit", "stateward-view"):
            await bind(admin, home, role, person(TENANT))
        async with logged_in(control_plane, admin, "stateward") as api, at_work(_operator(api, home)):
            yield Tenancy(admin, home)


async def _operator(api: HttpApi, home: str) -> None:
    """Run the controller of installations as the operator's process does."""
    options = OperatorOptions(lease_namespace=SYSTEM, detection_service_account="stateward-detection")
    clock = SystemClock()
    recorder = EventRecorder(api, "stateward.dev/test", "test", clock=clock)
    setting = Setting(
        api,
        recorder,
        clock,
        SYSTEM,
        (home, SYSTEM),
        execute=lambda who: api.acting_as(who).execute,
        accounts=accounts_of(options),
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(recorder.run())
        group.create_task(InstallationControl(setting).run())
