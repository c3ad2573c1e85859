"""An API server and a database in memory, with the controller of declared objects at work."""

import asyncio
import base64
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import OpenSearchCluster
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, Target, UnreachableError
from stateward.engines.connection.reading import ReadingTransport
from stateward.engines.search.database.session import Session, at_any_node
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.declared.controller import DeclaredControl, Setting
from stateward.operator.declared.previews import Previews
from stateward.operator.runtime.metrics import Metrics
from stateward.planning.model.database import Unknown
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.opensearch.http import Wire
from stateward.simulation.opensearch.snapshots import Snapshots
from stateward.simulation.opensearch.stored_objects import StoredObjects

T = TypeVar("T")
HOME = "prod"
KINDS = {
    "SearchObject": "stateward.dev/searchobjects",
    "SearchSnapshot": "stateward.dev/searchsnapshots",
    "SearchSnapshotSchedule": "stateward.dev/searchsnapshotschedules",
    "SearchRestore": "stateward.dev/searchrestores",
}
CLUSTER: dict[str, Any] = {
    "apiVersion": "stateward.dev/v1alpha1",
    "kind": "OpenSearchCluster",
    "metadata": {"name": "logs", "namespace": HOME},
    "spec": {"version": "2.19.3", "pools": [{"name": "all", "replicas": 3, "storage": {"size": "1Gi"}}]},
    "status": {"clusterUUID": "uuid-1", "version": "2.19.3"},
}
ACCESS = Access("logs.prod.svc", "")
TEMPLATE = {"index_patterns": ["logs-*"], "template": {"settings": {"number_of_shards": 3}}}


def now() -> float:
    """Return the time in seconds since the epoch, as the operator and the database have it."""
    return VirtualClock().now().timestamp()


@dataclass
class WiredDatabase:
    """A fake database behind `Transport`, at the end of a wire that loses, garbles and dies."""

    wire: Wire
    calls: list[Call] = field(default_factory=list[Call], kw_only=True)

    @property
    def writes(self) -> list[Call]:
        """The requests so far that may have changed something."""
        return [call for call in self.calls if call.method != "GET"]

    async def send(self, call: Call) -> Answer:
        await self.wire.reach(10.0)
        status, document = self._answer(call)
        self.calls.append(call)
        if call.method != "GET":
            self.wire.command_done(call.path)
        await self.wire.back()
        return Answer(status, self.wire.body(msgspec.json.encode(document)))

    def _answer(self, call: Call) -> tuple[int, Any]:
        """Return the status and the document for a request."""
        raise NotImplementedError


@dataclass
class FakeDatabase(WiredDatabase):
    """Its objects, its settings and the versions of its nodes."""

    snapshots: Snapshots
    objects: StoredObjects = field(default_factory=StoredObjects)
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    versions: list[str] = field(default_factory=lambda: ["2.19.3"] * 3)
    explained: dict[str, Any] = field(default_factory=dict[str, Any])
    refusals: dict[str, Answer] = field(default_factory=dict[str, Answer])
    """Answers to commands instead of the usual ones, by path."""

    def within(self, access: Access) -> "FakeDatabase":
        assert access is ACCESS
        return self

    def _answer(self, call: Call) -> tuple[int, Any]:
        if call.path in self.refusals and call.method != "GET":
            refused = self.refusals[call.path]
            return refused.status, msgspec.Raw(refused.body)
        own = {
            "/_cluster/state/": self._greeting,
            "/_nodes/http": self._nodes,
            "/_cluster/settings": self._settings,
            "/_plugins/_ism/explain/": self._explanation,
            "/_plugins/_ism/change_policy/": self._policy_changed,
        }
        for root, answer in own.items():
            if call.path.startswith(root):
                return answer(call)
        asked = (call.method, call.path, dict(call.params or {}), dict(call.body or {}))
        reply = self.snapshots.answer(*asked) or self.objects.answer(*asked)
        return reply or (400, {"error": {"reason": f"no handler found for uri [{call.path}]"}})

    def _greeting(self, _: Call) -> tuple[int, Any]:
        return 200, {"cluster_name": "prod-logs", "cluster_uuid": "uuid-1", "master_node": "n0", "blocks": {}}

    def _nodes(self, _: Call) -> tuple[int, Any]:
        nodes = {f"n{i}": {"version": version} for i, version in enumerate(self.versions)}
        return 200, {"_nodes": {"failed": 0}, "nodes": nodes}

    def _explanation(self, _: Call) -> tuple[int, Any]:
        return 200, self.explained

    def _policy_changed(self, _: Call) -> tuple[int, Any]:
        self.explained["logs-1"]["policy_seq_no"] = self.objects.writes
        return 200, {"failures": False}

    def _settings(self, call: Call) -> tuple[int, Any]:
        for key, value in ((call.body or {}).get("persistent") or {}).items():
            if value is None:
                self.settings.pop(key, None)
            else:
                self.settings[key] = str(value)
        return 200, {"persistent": dict(self.settings), "transient": {}}


class World:
    """One API server, one cluster with its database, and declared resources of a kind."""

    def __init__(self, seed: int = 1, kind: str = "SearchObject") -> None:
        self.kind = kind
        self.context = SimulationContext(seed, asyncio.get_running_loop())
        self.server, self.store = self.context.server, self.context.store
        self.change_signal = ChangeSignal(self.store)
        self.database = FakeDatabase(self.wire(seed), Snapshots(now))
        self.reachable = True
        self.secured = False
        self.metrics = Metrics()
        self.wave = ""
        self.unknown: Unknown | None = None
        """Why a process does not know how to reach the database."""
        self.verifies = False
        self.labelled = True
        self.found: Cluster | None = msgspec.convert(CLUSTER, OpenSearchCluster)
        self.there = True
        for name in (HOME, "stateward"):
            self.server.create("/namespaces", "", {"metadata": {"name": name}})

    @property
    def plural(self) -> str:
        return KINDS[self.kind]

    def wire(self, seed: int) -> Wire:
        return Wire(random.Random(seed), self.context.count)  # noqa: S311 - a world is repeated by its seed

    # Databases of the controller.

    def cluster(self, kind: str, key: Key) -> Cluster | None:
        assert kind == "OpenSearchCluster" or key
        return self.found

    def managed(self, cluster: Cluster | None) -> bool:
        return cluster is not None or not self.wave

    async def gone(self, kind: str, key: Key) -> bool:
        assert kind, key
        return not self.there

    def target(self, kind: str, key: Key) -> Target | None:
        assert kind, key
        if self.found is None or not self.reachable:
            return None
        access = ACCESS if self.secured else None
        return Target(("http://10.0.0.1:9200",), "prod-logs", self.found.status.cluster_uuid, access)

    async def ask(self, kind: str, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        assert kind
        if not self.reachable:
            raise UnreachableError("no node answers")
        return await at_any_node(self.database, target, work)

    # The same for previews, which only read.

    async def way(self, kind: str, key: Key) -> Target | Unknown | None:
        return self.unknown or (self.target(kind, key) if self.managed(self.found) else None)

    async def read(self, kind: str, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        assert kind
        if not self.reachable:
            raise UnreachableError("no node answers")
        return await at_any_node(ReadingTransport(self.database), target, work)

    # People.

    def declare(self, name: str = "one", /, **spec: Any) -> None:
        """Create a declared object, or change the one of this name."""
        wanted = {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}, **spec}
        live = self.store.get(self.plural, Key(HOME, name))
        if live is not None:
            self.server.update(self.plural, live.key, {**live.doc, "spec": {**live.doc["spec"], **wanted}})
            return
        body = {"apiVersion": "stateward.dev/v1alpha1", "kind": self.kind, "metadata": {"name": name}}
        self.server.create(self.plural, HOME, {**body, "spec": wanted})

    def template(self, name: str = "one", /, **spec: Any) -> None:
        self.declare(name, **{"object": "indexTemplate/logs", "body": TEMPLATE, **spec})

    def delete(self, name: str = "one") -> None:
        live = self.store.get(self.plural, Key(HOME, name))
        assert live is not None
        self.server.delete(self.plural, live.key, DeleteOptions(Preconditions(live.meta["uid"])))

    def secret(self, name: str, labels: dict[str, str], **values: str) -> None:
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        meta: dict[str, Any] = {"name": name, **({"labels": labels} if labels else {})}
        head = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
        self.server.create("/secrets", HOME, {**head, "data": data})

    def change_secret(self, name: str, **values: str) -> None:
        live = self.store.get("/secrets", Key(HOME, name))
        assert live is not None
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        self.server.update("/secrets", live.key, {**live.doc, "data": data})

    def label_secret(self, name: str, labels: dict[str, str]) -> None:
        live = self.store.get("/secrets", Key(HOME, name))
        assert live is not None
        self.context.change(live, ("metadata", "labels"), labels)

    def drop_secret(self, name: str) -> None:
        live = self.store.get("/secrets", Key(HOME, name))
        assert live is not None
        self.server.delete("/secrets", live.key, DeleteOptions(Preconditions(live.meta["uid"])))

    def change_status(self, field: str, value: Any, name: str = "one") -> None:
        live = self.store.get(self.plural, Key(HOME, name))
        assert live is not None
        self.context.change(live, ("status", field), value)

    def exists(self, name: str = "one") -> bool:
        return self.store.get(self.plural, Key(HOME, name)) is not None

    def status(self, name: str = "one") -> dict[str, Any]:
        live = self.store.get(self.plural, Key(HOME, name))
        assert live is not None, f"{name} is not there"
        return live.doc.get("status", {})

    def condition(self, kind: str, name: str = "one") -> dict[str, Any]:
        conditions = self.status(name).get("conditions", [])
        true = {c["type"] for c in conditions if c["status"] == "True"}
        assert len(true & {"Ready", "Reconciling", "Stalled"}) <= 1, "one at a time, as kstatus reads them"
        return next((c for c in conditions if c["type"] == kind), {})

    def is_ready(self, name: str = "one") -> bool:
        live = self.store.get(self.plural, Key(HOME, name))
        assert live is not None
        seen = live.doc.get("status", {}).get("observedGeneration") == live.meta["generation"]
        return seen and self.condition("Ready", name).get("status") == "True"

    def stalled(self, name: str = "one") -> str:
        """Return the reason why a person is needed; empty if none is."""
        found = self.condition("Stalled", name)
        return found["reason"] if found.get("status") == "True" else ""

    async def until(self, holds: Callable[[], object], seconds: float = 900.0) -> None:
        """Let time pass until something holds."""
        end = self.context.now + seconds
        while not holds():
            assert self.context.now < end, [stored.doc.get("status") for stored in self.store.all(self.plural)]
            await asyncio.sleep(0.1)

    def told(self) -> list[str]:
        """Return the reasons of all events, the first one first."""
        return [stored.doc["reason"] for stored in self.store.all("events.k8s.io/events")]

    async def pause(self) -> None:
        """Let others work for a moment."""
        await asyncio.sleep(0.1)

    def control(self, network: Network | None = None) -> tuple[DeclaredControl, EventRecorder]:
        """Return a controller that does not run yet, and what writes its events."""
        network = network or Network(self.context.stream("network"), self.context.count)
        api: Any = WorldApi(self.server, self.change_signal, network, "stateward")
        clock = VirtualClock()
        recorder = EventRecorder(api, "stateward.dev/test", "test", clock=clock)
        setting = Setting(
            api,
            self,
            recorder,
            clock,
            "stateward",
            kinds=(),
            metrics=self.metrics,
            verifies=self.verifies,
            labelled=self.labelled,
        )
        return DeclaredControl(setting), recorder

    def previews(self) -> Previews:
        """Return what a process previews, whether an operator is at work or not."""
        network = Network(self.context.stream("network"), self.context.count)
        api: Any = WorldApi(self.server, self.change_signal, network, "stateward")
        return Previews(api, self, VirtualClock(), "stateward")

    @asynccontextmanager
    async def operator(self, *, network: Network | None = None) -> AsyncGenerator[DeclaredControl]:
        """Have an operator at work."""
        control, recorder = self.control(network)
        tasks = [asyncio.create_task(recorder.run()), asyncio.create_task(control.run())]
        try:
            yield control
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError, NotFound):
                    await task
