"""A cluster in an API server in memory, its database with users and roles, and a model of its exporter's pods."""

from collections.abc import Sequence
from typing import Any

import msgspec

from stateward.engines.connection.base import Call
from stateward.engines.exporter.settings import SETTINGS
from stateward.engines.search.exporter.settings import PASSWORD, SearchSettings
from stateward.kube.objects.metadata import Key
from stateward.operator.beside.control import BesideControl, Setting
from stateward.operator.exporters.controller import exporters_control
from stateward.operator.exporters.health import Report
from stateward.operator.objects.kinds import ELASTICSEARCH
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.cluster.deployments import DEPLOYMENTS
from stateward.simulation.opensearch.stored_objects import USERS
from tests.unit.operator.dashboards import world as base

ROLES = {
    False: "/_plugins/_security/api/roles/stateward-metrics",
    True: "/_security/role/stateward-metrics",
}
IMAGE = "stateward:test"


def image_of(pod: Stored, container: str) -> str:
    """Return the image of a container."""
    return next(each["image"] for each in pod.doc["spec"]["containers"] if each["name"] == container)


class Database(base.Database):
    """A database that lets the exporter's users read statistics, and nothing else."""

    def _answer(self, call: Call) -> tuple[int, Any]:
        found = super()._answer(call)
        if found[0] != 401 and self.access is not None and self.access.user:
            return 403, {"error": {"reason": f"no permissions for {call.path} as {self.access.user}"}}
        return found

    def logs_in(self, user: str, password: str) -> bool:
        known = (self.objects.passwords.get(f"{root}{user}") for root in (USERS, "/_security/user/"))
        return password in [each for each in known if each is not None]


class Exporters(base.Instances):
    """The exporter's processes: they start at once, and read the database if it lets them in."""

    def _judge(self, version: str) -> None:
        """Nothing depends on versions."""

    def _start(self, key: Key, uid: str) -> None:
        pod = self._world.store.get(base.PODS, key)
        if pod is None or pod.uid != uid or pod.terminating:
            return
        if self._world.settings(pod) is None:
            self._world.context.soon(5.0, 10.0, self._start, key, uid)  # Its Secret is not there.
            return
        status = {"phase": "Running", "podIP": "10.0.0.9", "conditions": [{"type": "Ready", "status": "True"}]}
        self._world.context.change(pod, ("status",), status)

    def reads(self, pod: Stored) -> bool:
        """Return whether the process of a pod is let into the database."""
        found = self._world.settings(pod)
        return found is not None and self._world.database.logs_in(found["user"], found["password"])

    async def ask(self, addresses: Sequence[str]) -> Report:
        if not addresses or self.silent:
            return Report(None, "no answer")
        if self.broken or not all(self.reads(pod) for pod in self._world.pods()):
            return Report(up=False, said="the database answers with status 401")
        return Report(up=True)


class World(base.World):
    """One API server, one secured cluster with its database, and its exporter."""

    image = IMAGE

    def make_database(self, seed: int) -> Database:
        return Database(self.wire(seed), self.authority.bundle)

    def make_instances(self) -> Exporters:
        return Exporters(self)

    @property
    def exporters(self) -> Exporters:
        assert isinstance(self.instances, Exporters)
        return self.instances

    def control(self, setting: Setting) -> BesideControl:
        return exporters_control(setting, self.image, self.exporters.ask)

    def ask_for(self, **metrics: Any) -> None:
        self.edit(metrics=metrics)

    def status(self) -> dict[str, Any]:
        return self.cluster_object().doc.get("status", {}).get("metrics") or {}

    def available(self, version: str = "", instances: int | None = None) -> bool:
        assert (version, instances) == ("", None)
        return self.status().get("available") is True and not self.reason

    def deployment(self) -> Stored | None:
        return self.store.get(DEPLOYMENTS, Key(base.HOME, f"{base.NAME}-metrics"))

    def settings(self, pod: Stored) -> dict[str, Any] | None:
        volume = next(each for each in pod.doc["spec"]["volumes"] if each["name"] == "config")
        texts = self.texts(volume["secret"]["secretName"])
        if SETTINGS not in texts:
            return None
        found = msgspec.to_builtins(msgspec.json.decode(texts[SETTINGS], type=SearchSettings))
        return {**found, "password": texts[PASSWORD]}

    def owned(self) -> list[str]:
        found = (each for each in self.store.everything() if each.labels.get("stateward.dev/metrics-of") == base.NAME)
        return sorted(f"{each.kind}/{each.key.name}" for each in found)

    # The database.

    @property
    def root(self) -> str:
        return "/_security/user/" if self.kind is ELASTICSEARCH else USERS

    @property
    def role_path(self) -> str:
        return ROLES[self.kind is ELASTICSEARCH]

    def users(self) -> list[str]:
        """Return the names of the database's users."""
        return sorted(
            path.removeprefix(self.root) for path in self.database.objects.by_path if path.startswith(self.root)
        )

    def traces(self) -> list[str]:
        """Return what the database has of the exporter."""
        return sorted(path for path in self.database.objects.by_path if "stateward-metrics" in path)
