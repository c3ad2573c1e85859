"""A server in memory with the controller of installations at work, and workloads that become healthy by themselves."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.client.exec import Execute
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.installations.controller import InstallationControl, Setting
from stateward.operator.installations.execution.background import Background, in_foreground
from stateward.operator.installations.execution.service_account import Accounts
from stateward.operator.installations.execution.tasks import ExecAs
from stateward.operator.installations.objects.kinds import Raw
from stateward.packages.distribution.archive import pack
from stateward.packages.format.reading import read_package
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.cluster.context import SimulationContext
from tests.support.background import at_work
from tests.unit.packages.samples import files

HOME = "prod"
ACCOUNTS = Accounts()
PLURALS = {
    "ConfigMap": ("", "v1", "configmaps", True),
    "Secret": ("", "v1", "secrets", True),
    "Service": ("", "v1", "services", True),
    "ServiceAccount": ("", "v1", "serviceaccounts", True),
    "Pod": ("", "v1", "pods", True),
    "Namespace": ("", "v1", "namespaces", False),
    "PersistentVolumeClaim": ("", "v1", "persistentvolumeclaims", True),
    "Deployment": ("apps", "v1", "deployments", True),
    "StatefulSet": ("apps", "v1", "statefulsets", True),
    "Job": ("batch", "v1", "jobs", True),
    "PodDisruptionBudget": ("policy", "v1", "poddisruptionbudgets", True),
    "SearchUser": ("stateward.dev", "v1alpha1", "searchusers", True),
    "Installation": ("stateward.dev", "v1alpha1", "swinstallations", True),
}


class KnownKinds:
    """The kinds of this world, without discovery."""

    async def find(self, api_version: str, kind: str) -> Raw:
        group, version, plural, namespaced = PLURALS[kind]
        assert api_version.rpartition("/")[0] == group
        return Resource(group, version, plural, kind, dict[str, Any], namespaced)

    async def preferred(self, group: str, kind: str) -> Raw:
        return await self.find(f"{group}/x", kind) if group else await self.find("v1", kind)

    def forget(self, group: str) -> None:
        assert group is not None


class World:
    """One server, one namespace, and the controller of installations."""

    def __init__(self) -> None:
        self.context = SimulationContext(1, asyncio.get_running_loop())
        self.server = self.context.server
        self.store = self.context.store
        self.change_signal = ChangeSignal(self.store)
        self.healthy = True
        self.rollouts: dict[str, int] = {}
        self.jobs: dict[str, int] = {}
        self.written: dict[str, bytes] = {}
        self.waiter: dict[str, Any] = {}
        self.network = self.way()
        self.api = self.client(self.network)
        self.store.subscribers.append(self._heard)
        for name in (HOME, "stateward"):
            self.server.create("/namespaces", "", {"metadata": {"name": name}})

    def way(self) -> Network:
        return Network(self.context.stream("network"), self.context.count)

    def client(self, network: Network) -> Any:
        return WorldApi(self.server, self.change_signal, network, "stateward")

    def _heard(self, kind: str, event: Event) -> None:
        if event.new is not None and event.new.terminating and kind == "/persistentvolumeclaims":
            self.context.later(0.5, self._released, event.new)
        if event.new is None or event.new.terminating:
            return
        if kind in {"apps/deployments", "apps/statefulsets"}:
            self._count(event)
            if self.healthy:
                self.context.later(0.5, self._rolled_out, event.new)
        if kind == "batch/jobs" and event.old is None:
            self.jobs[event.new.key.name] = self.jobs.get(event.new.key.name, 0) + 1
        if kind == "batch/jobs" and self.healthy:
            self.context.later(0.5, self._done, event.new)
        if kind == "/pods" and self.healthy:
            self.context.later(0.5, self._started, event.new)

    def _count(self, event: Event) -> None:
        assert event.new is not None
        template = event.new.doc["spec"]["template"]
        if event.old is not None and event.old.doc["spec"]["template"] != template:
            self.rollouts[event.new.key.name] = self.rollouts.get(event.new.key.name, 0) + 1

    def _rolled_out(self, stored: Stored) -> None:
        live = self.store.get(stored.kind, stored.key)
        if live is None or not self.healthy:
            return
        wanted = live.doc["spec"].get("replicas", 1)
        names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        status = {"observedGeneration": live.meta["generation"], **dict.fromkeys(names, wanted)}
        self.context.change(live, ("status",), status)

    def _started(self, stored: Stored) -> None:
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.context.change(stored, ("status",), ready)

    def _done(self, stored: Stored) -> None:
        if self.healthy:
            self.context.change(stored, ("status",), {"conditions": [{"type": "Complete", "status": "True"}]})

    def _released(self, claim: Stored) -> None:
        """Let a claim go that no pod uses."""
        live = self.store.get(claim.kind, claim.key)
        if live is not None and live.uid == claim.uid:
            meta = {name: value for name, value in live.meta.items() if name != "finalizers"}
            self.server.update(live.kind, live.key, {**live.doc, "metadata": meta})

    def roll_out(self) -> None:
        """Let everything become healthy that has waited."""
        self.healthy = True
        for stored in list(self.store.everything()):
            if stored.kind in {"apps/deployments", "apps/statefulsets"}:
                self._rolled_out(stored)
            elif stored.kind == "batch/jobs":
                self._done(stored)

    def package(self, name: str, content: Mapping[str, bytes] | None = None, **replaced: tuple[str, str]) -> None:
        """Make a Package of files; without any, of the shop, with texts replaced in it."""
        content = content or files(None, **replaced)
        found = read_package(content)
        spec = {"name": found.name, "version": found.version, "archive": base64.b64encode(pack(content)).decode()}
        body = {"apiVersion": "stateward.dev/v1alpha1", "kind": "Package", "metadata": {"name": name}, "spec": spec}
        self.server.create("stateward.dev/swpackages", HOME, body)

    def install(self, package: str, name: str = "web", /, *, spec: Any = None, **parameters: Any) -> None:
        """Make an Installation, or change the one there is."""
        key = Key(HOME, name)
        wanted = {"package": package, "parameters": parameters, **(spec or {})}
        live = self.store.get("stateward.dev/swinstallations", key)
        head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "Installation"}
        if live is None:
            body = head | {"metadata": {"name": name}, "spec": wanted}
            self.server.create("stateward.dev/swinstallations", HOME, body)
            return
        self.server.update("stateward.dev/swinstallations", key, {**live.doc, "spec": wanted})

    def annotate(self, name: str, value: str) -> None:
        live = self.store.get("stateward.dev/swinstallations", Key(HOME, "web"))
        assert live is not None
        notes = {**live.meta.get("annotations", {}), name: value}
        doc = {**live.doc, "metadata": {**live.meta, "annotations": notes}}
        self.server.update("stateward.dev/swinstallations", live.key, doc)

    def say(self, kind: str, name: str, status: dict[str, Any]) -> None:
        """Write what the controller of an object says of it."""
        group, _, plural, _ = PLURALS[kind]
        stored = self.store.get(f"{group}/{plural}", Key(HOME, name))
        assert stored is not None
        self.context.change(stored, ("status",), status)

    def uninstall(self, name: str = "web") -> None:
        """Delete an Installation."""
        exact = DeleteOptions(Preconditions(self.there("Installation", name)["metadata"]["uid"]))
        self.server.delete("stateward.dev/swinstallations", Key(HOME, name), exact)

    def forsake(self, name: str) -> None:
        """Begin to delete a namespace; what is in it goes later, in whichever order."""
        stored = self.store.get("/namespaces", Key("", name))
        assert stored is not None
        self.context.change(stored, ("metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z")

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return an object of the namespace as it is."""
        group, _, plural, namespaced = PLURALS[kind]
        stored = self.store.get(f"{group}/{plural}", Key(HOME if namespaced else "", name))
        return None if stored is None else stored.doc

    def there(self, kind: str, name: str) -> dict[str, Any]:
        """Return an object that has to be there."""
        found = self.get(kind, name)
        assert found is not None, f"{kind} {name} is not there"
        return found

    def status(self, name: str = "web") -> dict[str, Any]:
        return self.there("Installation", name).get("status", {})

    def condition(self, kind: str, name: str = "web") -> dict[str, Any]:
        conditions = self.status(name).get("conditions", [])
        true = {c["type"] for c in conditions if c["status"] == "True"}
        assert not {"Reconciling", "Stalled"} <= true, "tools that follow kstatus would wait forever"
        return next((c for c in conditions if c["type"] == kind), {})

    def ready(self, name: str = "web") -> bool:
        """Whether an installation matches its spec."""
        body = self.there("Installation", name)
        seen = body.get("status", {}).get("observedGeneration") == body["metadata"]["generation"]
        return seen and self.condition("Ready", name).get("status") == "True"

    async def until(self, holds: Callable[[], object], seconds: float = 600.0) -> None:
        """Let time pass until something holds."""
        end = self.context.now + seconds
        while not holds():
            assert self.context.now < end, self.statuses()
            await asyncio.sleep(0.1)

    def statuses(self) -> list[Any]:
        return [stored.doc.get("status") for stored in self.store.all("stateward.dev/swinstallations")]

    async def _execute(self, pod: Key, container: str, command: Sequence[str], limit: int) -> bytes:
        assert self.there("Pod", pod.name)["spec"]["containers"][-1]["name"] == container
        assert limit
        self.waiter = self.there("Pod", pod.name)["spec"]["containers"][-1]
        return self.written[command[-1]]

    def _execute_as(self, _user: str) -> Execute:
        return self._execute

    @asynccontextmanager
    async def operator(
        self,
        api: Any = None,
        background: Background = in_foreground,
        execute: ExecAs | None = None,
        accounts: Accounts = ACCOUNTS,
    ) -> AsyncGenerator[InstallationControl]:
        """Have an operator at work."""
        api = api or self.api
        clock, rng = VirtualClock(), self.context.stream("operator")
        recorder = EventRecorder(api, "stateward.dev/test", "test", clock=clock, rng=rng)
        setting = Setting(api, recorder, clock, "stateward", kinds=KnownKinds(), image="r.example/stateward@sha256:ab")
        setting = replace(setting, execute=execute or self._execute_as, background=background, rng=rng)
        setting = replace(setting, accounts=accounts)
        control = InstallationControl(setting)
        async with at_work(recorder.run(), control.run()):
            yield control
