"""Two clusters in an API server in memory, the database of the one that searches, and the controller at work."""

from dataclasses import dataclass, field
from typing import Any

from stateward.engines.connection.base import Call, Target
from stateward.engines.search.remote.requests import NO_INDEX, PREFIX
from stateward.kube.objects.metadata import Key
from stateward.operator.beside.control import BesideControl, Setting
from stateward.operator.remotes.controller import remotes_control
from stateward.simulation.apiserver.store import Stored
from tests.unit.operator.dashboards import world as base

OTHER = Key("team-b", "events")
ADDRESS = "events-remote.team-b.svc:9300"
ENTRY: dict[str, Any] = {"name": "east", "cluster": {"name": OTHER.name, "namespace": OTHER.namespace}}
WORD = {"name": base.NAME, "namespace": base.HOME}
OURS = {
    f"{PREFIX}east.mode": "proxy",
    f"{PREFIX}east.proxy_address": ADDRESS,
    f"{PREFIX}east.skip_unavailable": "true",
}


@dataclass
class Database(base.Database):
    """A database with settings of the cluster, which connects to another one when it is searched."""

    settings: dict[str, dict[str, str]] = field(default_factory=lambda: {"persistent": {}, "transient": {}})
    reachable: set[str] = field(default_factory=lambda: {ADDRESS})
    woken: set[str] = field(default_factory=set[str])
    refuses: bool = False

    def _answer(self, call: Call) -> tuple[int, Any]:
        if call.path == "/_cluster/settings":
            return self._settings(call)
        if call.path == "/_remote/info":
            return 200, {alias: {"connected": alias in self.woken & self.up()} for alias in self.addresses()}
        if call.path.endswith(f":{NO_INDEX}/_search"):
            alias = call.path[1:].partition(":")[0]
            if alias not in self.addresses():
                return 404, {"error": {"reason": f"no such remote cluster: [{alias}]"}}
            self.woken.add(alias)
            found = alias in self.up()
            return (200, {"hits": {}}) if found else (500, {"error": {"reason": f"unable to connect to {alias}"}})
        return super()._answer(call)

    def addresses(self) -> dict[str, str]:
        flat = self.settings["persistent"]
        return {key.split(".")[2]: value for key, value in flat.items() if key.endswith(".proxy_address")}

    def up(self) -> set[str]:
        return {alias for alias, address in self.addresses().items() if address in self.reachable}

    def _settings(self, call: Call) -> tuple[int, Any]:
        if call.method == "GET":
            return 200, {**self.settings, "defaults": {}}
        if self.refuses:
            return 400, {"error": {"reason": "cannot be changed"}}
        for key, value in ((call.body or {}).get("persistent") or {}).items():
            if value is None:
                self.settings["persistent"].pop(key, None)
                self.woken.discard(key.split(".")[2])
            else:
                self.settings["persistent"][key] = value
        return 200, {"acknowledged": True}


class World(base.World):
    """One API server, a cluster that searches, with its database, and a cluster that is searched."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.server.create("/namespaces", "", {"metadata": {"name": OTHER.namespace}})
        self.make_other()

    def make_other(self, *, secured: bool = True) -> None:
        head = {"apiVersion": "stateward.dev/v1alpha1", "kind": self.kind.resource.kind}
        spec = self.first_spec(self.deployed)
        self.server.create(self.plural, OTHER.namespace, {**head, "metadata": {"name": OTHER.name}, "spec": spec})
        condition = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
        status = {"clusterUUID": "uuid-2", "conditions": [condition], "security": {"enabled": secured}}
        self.context.change(self.other(), ("status",), status)

    def make_database(self, seed: int) -> Database:
        return Database(self.wire(seed), self.authority.bundle)

    @property
    def settings_of_remotes(self) -> dict[str, str]:
        assert isinstance(self.database, Database)
        return self.database.settings["persistent"]

    def control(self, setting: Setting) -> BesideControl:
        return remotes_control(setting)

    def target(self, kind: str, key: Key) -> Target | None:
        return super().target(kind, key) if key == Key(base.HOME, base.NAME) else None

    def other(self) -> Stored:
        found = self.store.get(self.plural, OTHER)
        assert found is not None
        return found

    def edit_other(self, **spec: Any) -> None:
        live = self.other()
        wanted = {key: value for key, value in {**live.doc["spec"], **spec}.items() if value is not None}
        self.server.update(self.plural, live.key, {**live.doc, "spec": wanted})

    def search(self, *entries: dict[str, Any]) -> None:
        self.edit(remoteClusters=list(entries) or None)

    def consent(self, *others: dict[str, str]) -> None:
        self.edit_other(remoteAccess={"from": list(others or (WORD,))})

    def entry(self, alias: str = "east") -> dict[str, Any]:
        found = self.cluster_object().doc.get("status", {}).get("remoteClusters") or []
        return next((each for each in found if each["name"] == alias), {})

    def status(self) -> dict[str, Any]:
        return {each["name"]: each for each in self.cluster_object().doc.get("status", {}).get("remoteClusters") or []}

    def waits_for(self, reason: str, alias: str = "east") -> bool:
        return self.entry(alias).get("reason", "") == reason

    def connected(self, alias: str = "east") -> bool:
        found = self.entry(alias)
        return found.get("state") == "Connected" and not found.get("reason")

    def access(self, of: Stored) -> str:
        """Return the reason why others do not reach a cluster."""
        found: dict[str, str] = of.doc["status"].get("remoteAccess") or {}
        return found.get("reason", "")

    def service(self) -> Stored | None:
        return self.store.get("/services", Key(OTHER.namespace, f"{OTHER.name}-remote"))
