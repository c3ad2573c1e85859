"""Installations on real nodes: a namespace with the rights that packages need, and what is watched meanwhile."""

import asyncio
import base64
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import Sandbox
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.installations.objects.views import INSTALLATIONS, PACKAGES
from stateward.packages.distribution.archive import pack
from stateward.packages.format.reading import belongs, read_package
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from tests.e2e.operators import kubectl

EXAMPLES = Path(__file__).parents[3] / "examples"
STATEFUL_SETS: Resource[dict[str, Any]] = Resource("apps", "v1", "statefulsets", "StatefulSet", dict[str, Any])


def folder(path: Path, **replaced: tuple[str, str]) -> dict[str, bytes]:
    """Return the files of a package; `replaced` is old and new text of files by their stem."""
    files = {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}
    for stem, (old, new) in replaced.items():
        (name,) = (name for name in files if Path(name).stem == stem)
        assert old.encode() in files[name]
        files[name] = files[name].replace(old.encode(), new.encode())
    return {name: content for name, content in files.items() if belongs(name)}


@dataclass
class PackageNamespace:
    """One namespace, and who installs packages in it."""

    api: HttpApi
    sandbox: Sandbox
    namespace: str

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def package(self, content: Mapping[str, bytes]) -> str:
        """Make a Package of files; returns the name of the object."""
        found = read_package(dict(content))
        name = f"{found.name}-{found.version}"
        archive = base64.b64encode(pack(dict(content))).decode()
        spec = {"name": found.name, "version": found.version, "archive": archive, "digest": found.digest}
        body = {"apiVersion": PACKAGES.api_version, "kind": "Package", "metadata": {"name": name}, "spec": spec}
        await self.api.create(PACKAGES, body, namespace=self.namespace)
        return name

    async def install(self, package: str, name: str, **parameters: Any) -> None:
        head = {"apiVersion": PACKAGES.api_version, "kind": "Installation", "metadata": {"name": name}}
        body = head | {"spec": {"package": package, "parameters": parameters}}
        await self.api.create(INSTALLATIONS, body, namespace=self.namespace)

    async def change(self, name: str, **spec: Any) -> None:
        await self.api.patch(INSTALLATIONS, self.key(name), {"spec": spec}, kind=PatchKind.MERGE)

    async def trigger(self, name: str, wish: str, seconds: float = 180) -> None:
        """Have a plan run, and wait until it is done."""
        patch = {"metadata": {"annotations": {ANNOTATION_TRIGGER: wish}}}
        await self.api.patch(INSTALLATIONS, self.key(name), patch, kind=PatchKind.MERGE)
        await self.until(name, lambda body: body["status"].get("lastRequest") == wish, seconds)
        await self.ready(name, seconds)

    async def ready(self, name: str, seconds: float = 240) -> dict[str, Any]:
        """Wait until an installation is as it was last asked for; a plan that fails ends the wait."""
        return await self.until(name, _ready, seconds)

    async def until(self, name: str, holds: Callable[[dict[str, Any]], object], seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while not holds(body := await self.api.get(INSTALLATIONS.raw(), self.key(name))):
            status = body.get("status", {})
            assert time.monotonic() < deadline, status
            assert status.get("run", {}).get("stage") != "Failed", status
            await asyncio.sleep(0.5)
        return body

    async def uninstall(self, name: str, seconds: float = 180) -> None:
        """Remove an installation, and wait until it is gone."""
        body = await self.api.get(INSTALLATIONS.raw(), self.key(name))
        await self.api.delete(INSTALLATIONS, self.key(name), DeleteOptions(Preconditions(body["metadata"]["uid"])))
        deadline = time.monotonic() + seconds
        while True:
            try:
                body = await self.api.get(INSTALLATIONS.raw(), self.key(name))
            except NotFound:
                return
            assert time.monotonic() < deadline, body["status"]
            await asyncio.sleep(0.5)

    async def pods(self, app: str) -> dict[str, dict[str, Any]]:
        """Return the pods with a label `app`, by name."""
        page = await self.api.list(kinds.PODS.raw(), Selection(self.namespace, labels=f"app={app}"))
        return {pod["metadata"]["name"]: pod for pod in page.items}

    async def uids(self, app: str) -> dict[str, str]:
        return {name: pod["metadata"]["uid"] for name, pod in (await self.pods(app)).items()}

    async def gone(self, app: str, names: set[str], seconds: float = 90) -> None:
        """Wait until pods are gone."""
        deadline = time.monotonic() + seconds
        while left := names & (await self.pods(app)).keys():
            assert time.monotonic() < deadline, left
            await asyncio.sleep(0.5)

    def run(self, pod: str, *words: str) -> str:
        """Run a command in a pod."""
        return kubectl(self.sandbox, "-n", self.namespace, "exec", pod, "--", *words)

    def tries(self, pod: str, *words: str) -> bool:
        """Run a command in a pod that may fail."""
        argv = ["kubectl", "-n", self.namespace, "exec", pod, "--", *words]
        done = subprocess.run(self.sandbox.command(argv), capture_output=True, check=False, timeout=60)
        return done.returncode == 0


def _ready(body: dict[str, Any]) -> bool:
    status = body.get("status", {})
    seen = status.get("observedGeneration") == body["metadata"]["generation"]
    return seen and any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))


def plans(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the plans that have run, the first one first."""
    return [(run["plan"], run["stage"]) for run in reversed(body["status"]["history"])]


@dataclass
class Writer:
    """Writes numbers one after the other, each acknowledged; `gap` is the longest time between two, in seconds."""

    place: PackageNamespace
    endpoint: str
    written: list[int] = field(default_factory=list[int])
    gap: float = 0.0

    async def write(self, stop: asyncio.Event) -> None:
        """Write until told to stop, by way of whichever pod answers."""
        last, number = time.monotonic(), 0
        while not stop.is_set():
            number += 1
            if await asyncio.to_thread(self._put, number):
                self.gap, last = max(self.gap, time.monotonic() - last), time.monotonic()
                self.written.append(number)

    def _put(self, number: int) -> bool:
        words = ("sh", "-c", f"etcdctl --endpoints={self.endpoint} --command-timeout=3s put /n/{number} {number}")
        return any(self.place.tries(f"store-{ordinal}", *words) for ordinal in (0, 1))
