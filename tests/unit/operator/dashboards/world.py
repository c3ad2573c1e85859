"""A cluster in an API server in memory, its database, a model of its dashboards, and the controller at work."""

import asyncio
import base64
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from stateward import pki
from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Call, Target, UnreachableError
from stateward.engines.search.dashboards.decision import Health
from stateward.engines.search.database.session import Session, at_any_node
from stateward.kube.cache.reflector import ReflectorOptions
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.beside.control import BesideControl, Setting
from stateward.operator.dashboards.controller import dashboards_control
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.kinds import ELASTICSEARCH, FOUNDATIONDB, OPENSEARCH, ClusterKind
from stateward.operator.pod_rights.labels import PodRights
from stateward.pki.files import authority_files
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.apiserver.writing.deletion import GarbageCollector
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.deployments import DEPLOYMENTS, PODS, Deployments
from stateward.simulation.opensearch.http import Wire
from stateward.simulation.opensearch.stored_objects import USERS, StoredObject, StoredObjects
from tests.unit.operator.declared.world import WiredDatabase

T = TypeVar("T")
HOME = "prod"
NAME = "logs"
USER_PATH = f"{USERS}kibanaserver"
SERVICE_NAME = "logs.prod.svc"
PLURALS = {
    OPENSEARCH.engine: "stateward.dev/osclusters",
    ELASTICSEARCH.engine: "stateward.dev/esclusters",
    FOUNDATIONDB.engine: "stateward.dev/fdbclusters",
}
TOKENS = "/_security/service/elastic/kibana/credential"


@dataclass
class Database(WiredDatabase):
    """The database of the cluster: its users or tokens, and the versions of its members."""

    trusted: str
    objects: StoredObjects = field(default_factory=StoredObjects)
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    kept: set[str] = field(default_factory=set[str])
    """Tokens that the database refuses to delete."""
    access: Access | None = None

    def within(self, access: Access) -> "Database":
        assert access.trusted == self.trusted
        return replace(self, access=access)

    def _answer(self, call: Call) -> tuple[int, Any]:
        if self.access is not None and self.access.user and not self.logs_in(self.access.user, self.access.password):
            return 401, {"error": {"reason": "Unauthorized"}}
        if call.path.startswith("/_cluster/state/"):
            return 200, {"cluster_name": "prod.logs", "cluster_uuid": "uuid-1", "master_node": "n0", "blocks": {}}
        if call.path.startswith(TOKENS):
            return self._tokens(call)
        reply = self.objects.answer(call.method, call.path, dict(call.params or {}), dict(call.body or {}))
        return reply or (400, {"error": {"reason": f"no handler found for uri [{call.path}]"}})

    def _tokens(self, call: Call) -> tuple[int, Any]:
        name = call.path.removeprefix(f"{TOKENS}/token/")
        if call.method == "GET":
            return 200, {"service_account": "elastic/kibana", "tokens": {each: {} for each in self.tokens}}
        if call.method == "DELETE" and name in self.kept:
            return 403, {"error": {"reason": f"token [{name}] may not be deleted"}}
        if call.method == "DELETE":
            return (200, {"found": True}) if self.tokens.pop(name, None) else (404, {"found": False})
        if name in self.tokens:
            return 409, {"error": {"reason": f"token [{name}] already exists"}}
        self.tokens[name] = f"value-{len(self.calls)}"  # Another one each time, for every login.
        return 200, {"created": True, "token": {"name": name, "value": self.tokens[name]}}

    def logs_in(self, user: str, password: str) -> bool:
        return self.objects.passwords.get(f"{USERS}{user}") == password


class Instances:
    """The processes in the pods: they start if their configuration fits the database, and migrate saved objects."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.migration = 3.0
        """Seconds until a process is ready."""
        self.broken = False
        """Whether instances report that something is wrong."""
        self.silent = False
        """Whether they do not answer the operator."""
        self.objects_version = ""
        """The version that has migrated the saved objects."""
        self.faults: list[str] = []
        """What must never happen, and did."""
        world.store.subscribers.append(self._on_event)

    def _on_event(self, kind: str, event: Any) -> None:
        if kind != PODS:
            return
        if event.old is None:
            self._world.context.soon(0.5, self.migration, self._start, event.new.key, event.new.uid)
        elif event.new is not None and event.new.terminating and not event.old.terminating:
            self._world.context.soon(0.2, 4.0, self._end, event.new)

    def _end(self, pod: Stored) -> None:
        with suppress(Exception):
            self._world.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid), grace_seconds=0))

    def _start(self, key: Key, uid: str) -> None:
        pod = self._world.store.get(PODS, key)
        if pod is None or pod.uid != uid or pod.terminating:
            return
        version = pod.meta["annotations"]["stateward.dev/version"]
        self._judge(version)
        if not self._configured(pod):
            self._world.context.soon(5.0, 10.0, self._start, key, uid)  # It ends, and is started again.
            return
        self.objects_version = version
        status = {"phase": "Running", "podIP": "10.0.0.9", "conditions": [{"type": "Ready", "status": "True"}]}
        self._world.context.change(pod, ("status",), status)

    def _judge(self, version: str) -> None:
        """Note what must never happen when a process of a version starts."""
        if number(version) > number(self._world.deployed):
            self.faults.append(f"{version} is ahead of {self._world.deployed}")
        if self.objects_version and number(version) < number(self.objects_version):
            self.faults.append(f"{version} starts after {self.objects_version} has migrated")
        others = {pod.meta["annotations"]["stateward.dev/version"] for pod in self._world.pods()}
        if len(others) > 1:
            self.faults.append(f"{sorted(others)} run at once")

    def _configured(self, pod: Stored) -> bool:
        """Return whether the configuration lets the process into the database."""
        settings = self._world.settings(pod)
        database = self._world.database
        if settings is None:
            return False
        if self._world.kind is ELASTICSEARCH:
            return settings.get("elasticsearch.serviceAccountToken") in database.tokens.values()
        if not self._world.secured:
            return "opensearch.username" not in settings
        return database.logs_in(settings["opensearch.username"], settings["opensearch.password"])

    async def __call__(self, addresses: Sequence[str], path: str, access: Access | None) -> tuple[Health, str]:
        assert path == "/api/status"
        assert access is None or access.trusted
        if not addresses or self.silent:
            return Health.UNKNOWN, "no answer"
        locked_out = any(not self._configured(pod) for pod in self._world.pods())
        if self.broken or locked_out:
            return Health.UNAVAILABLE, "it reports red"
        return Health.AVAILABLE, ""


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


class World:
    """One API server, one secured cluster with its database, and its dashboards."""

    def __init__(self, seed: int = 1, kind: ClusterKind = OPENSEARCH, version: str = "2.19.1") -> None:
        self.kind = kind
        self.context = SimulationContext(seed, asyncio.get_running_loop())
        self.server, self.store = self.context.server, self.context.store
        self.change_signal = ChangeSignal(self.store)
        self.deployments = Deployments(self.context)
        self.garbage = GarbageCollector(self.store, self._later)
        self.authority = pki.new_authority("logs CA", VirtualClock().now().timestamp())
        self.database = self.make_database(seed)
        self.instances = self.make_instances()
        self.reachable = True
        self.known = True
        """Whether the process has had a round of the database."""
        self.deployed = version
        self.routes = False
        self.network_policies = False
        self.labelled = True
        self.secured = True
        """Whether the database has users."""
        for name in (HOME, "stateward"):
            self.server.create("/namespaces", "", {"metadata": {"name": name}})
        self.secret("logs-ca", self.own_labels, **authority_files(self.authority))
        head = {"apiVersion": "stateward.dev/v1alpha1", "kind": kind.resource.kind, "metadata": {"name": NAME}}
        self.server.create(self.plural, HOME, {**head, "spec": self.first_spec(version)})
        self.set_status(version)

    def first_spec(self, version: str) -> dict[str, Any]:
        return {"version": version, "pools": [{"name": "all", "replicas": 3, "storage": {"size": "1Gi"}}]}

    def make_database(self, seed: int) -> Database:
        return Database(self.wire(seed), self.authority.bundle)

    def make_instances(self) -> Instances:
        return Instances(self)

    def control(self, setting: Setting) -> BesideControl:
        """Return the controller that is tested."""
        return dashboards_control(setting, self.instances, routes=self.routes)

    @property
    def plural(self) -> str:
        return PLURALS[self.kind.engine]

    def wire(self, seed: int) -> Wire:
        return Wire(random.Random(seed), self.context.count)  # noqa: S311 - a world is repeated by its seed

    def _later(self, seconds: float, do: Callable[[], None]) -> None:
        self.context.later(seconds, do)

    # Databases of the controller.

    def cluster(self, kind: str, key: Key) -> Cluster | None:
        raise AssertionError(kind, key)

    def managed(self, cluster: Cluster | None) -> bool:
        return cluster is not None

    async def gone(self, kind: str, key: Key) -> bool:
        raise AssertionError(kind, key)

    def target(self, kind: str, key: Key) -> Target | None:
        assert (kind, key) == (self.kind.resource.kind, Key(HOME, NAME))
        if not self.known:
            return None
        access = Access(SERVICE_NAME, self.authority.bundle) if self.secured else None
        return Target(("https://10.0.0.1:9200",), "prod.logs", "uuid-1", access)

    async def ask(self, kind: str, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        assert kind
        if not self.reachable:
            raise UnreachableError("no node answers")
        return await at_any_node(self.database, target, work)

    # People, and the rest of the operator.

    def cluster_object(self) -> Stored:
        found = self.store.get(self.plural, Key(HOME, NAME))
        assert found is not None
        return found

    def edit(self, **spec: Any) -> None:
        """Change fields of the cluster's spec; None removes one."""
        live = self.cluster_object()
        wanted = {key: value for key, value in {**live.doc["spec"], **spec}.items() if value is not None}
        self.server.update(self.plural, live.key, {**live.doc, "spec": wanted})

    def ask_for(self, **dashboards: Any) -> None:
        self.edit(dashboards=dashboards)

    def set_status(self, version: str) -> None:
        """Write the status as the rounds of the database do, once all members run a version."""
        self.deployed = version
        live = self.cluster_object()
        condition = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
        known = live.doc.get("status", {})
        security = {"enabled": self.secured}
        fields = {"version": version, "clusterUUID": "uuid-1", "conditions": [condition], "security": security}
        self.context.change(live, ("status",), {**known, **fields})

    @property
    def own_labels(self) -> dict[str, str]:
        """The labels of Secrets that the operator has made for the cluster."""
        return {names.LABEL_CLUSTER: NAME, names.LABEL_ENGINE: self.kind.engine}

    def secret(self, name: str, labels: dict[str, str] | None = None, /, **values: str) -> None:
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels or {}}, "data": data}
        self.server.create("/secrets", HOME, body)

    def rewrite_secret(self, name: str, **changes: str | None) -> None:
        live = self.store.get("/secrets", Key(HOME, name))
        assert live is not None
        data = {**live.doc["data"]}
        for key, value in changes.items():
            data.pop(key, None)
            if value is not None:
                data[key] = base64.b64encode(value.encode()).decode()
        self.server.update("/secrets", live.key, {**live.doc, "data": data})

    def delete(self, kind: str, name: str) -> None:
        live = self.store.get(kind, Key(HOME, name))
        assert live is not None
        self.server.delete(kind, live.key, DeleteOptions(Preconditions(live.uid)))

    # What people see.

    def status(self) -> dict[str, Any]:
        return self.cluster_object().doc.get("status", {}).get("dashboards") or {}

    @property
    def reason(self) -> str:
        return self.status().get("reason", "")

    def available(self, version: str = "", instances: int | None = None) -> bool:
        found = self.status()
        same = (not version or found.get("version") == version) and not found.get("reason")
        return same and found.get("available") is True and instances in (None, found.get("ready", 0))

    def deployment(self) -> Stored | None:
        return self.store.get(DEPLOYMENTS, Key(HOME, f"{NAME}-dashboards"))

    def pods(self) -> list[Stored]:
        return self.store.all(PODS)

    def texts(self, name: str) -> dict[str, str]:
        found = self.store.get("/secrets", Key(HOME, name))
        data: dict[str, str] = found.doc.get("data", {}) if found is not None else {}
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def settings(self, pod: Stored) -> dict[str, Any] | None:
        """Return the settings in the configuration of a pod; None if its Secret is not there."""
        volume = next(each for each in pod.doc["spec"]["volumes"] if each["name"] == "config")
        texts = self.texts(volume["secret"]["secretName"])
        name = "kibana.yml" if self.kind is ELASTICSEARCH else "opensearch_dashboards.yml"
        if name not in texts:
            return None
        lines = (line.split(": ", 1) for line in texts[name].splitlines())
        return {key: msgspec.json.decode(value) for key, value in lines}

    def owned(self) -> list[str]:
        """Return kind and name of all objects with the label of the dashboards."""
        found = (each for each in self.store.everything() if each.labels.get("stateward.dev/dashboards-of") == NAME)
        return sorted(f"{each.kind}/{each.key.name}" for each in found)

    def versions(self) -> dict[str, str]:
        """Return the version of each object, by kind and name."""
        return {f"{each.kind}/{each.key.name}": each.meta["resourceVersion"] for each in self.store.everything()}

    def told(self) -> list[str]:
        return [stored.doc["reason"] for stored in self.store.all("events.k8s.io/events")]

    def everything_said(self) -> str:
        return str([stored.doc for stored in self.store.everything() if stored.kind != "/secrets"])

    def take_user(self) -> None:
        """Have another client make the user."""
        self.database.objects.by_path[USER_PATH] = StoredObject({"attributes": {}}, 1)

    async def until(self, holds: Callable[[], object], seconds: float = 900.0) -> None:
        """Let time pass until something holds."""
        end = self.context.now + seconds
        while not holds():
            assert self.context.now < end, (self.status(), self.owned())
            await asyncio.sleep(0.1)
        assert not self.instances.faults

    @asynccontextmanager
    async def operator(self, *, network: Network | None = None) -> AsyncGenerator[BesideControl]:
        """Have an operator at work."""
        network = network or Network(self.context.stream("network"), self.context.count)
        api: Any = WorldApi(self.server, self.change_signal, network, "stateward")
        clock, caches = VirtualClock(), Caches(self.kind)
        recorder = EventRecorder(api, "stateward.dev/test", "test", clock=clock)
        rights = PodRights(api, unconnected(self.kind), labelled=self.labelled)
        setting = Setting(
            api=api,
            databases=self,
            recorder=recorder,
            clock=clock,
            kinds=[caches],
            rights={self.kind.engine: rights},
            labelled=self.labelled,
            network_policies=self.network_policies,
        )
        control = self.control(setting)
        tasks = [asyncio.create_task(recorder.run())]
        tasks += [asyncio.create_task(each.run()) for each in caches.reflectors(api, ReflectorOptions(clock=clock))]
        tasks.append(asyncio.create_task(control.run()))
        try:
            yield control
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError, NotFound):
                    await task
