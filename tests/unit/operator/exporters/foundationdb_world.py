"""A FoundationDB cluster in an API server in memory, and a model of its exporter's pods."""

from typing import Any

import msgspec

from stateward.engines.connection.base import Target
from stateward.engines.exporter.settings import SETTINGS
from stateward.engines.foundationdb.exporter.settings import FoundationSettings
from stateward.engines.foundationdb.spec.build import series
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.kinds import FOUNDATIONDB
from stateward.simulation.apiserver.store import Stored
from tests.unit.operator.dashboards.world import NAME
from tests.unit.operator.exporters import world as search

OLD, PATCH, NEW = "7.1.57", "7.1.67", "7.3.63"
FILE, TLS = f"{NAME}-cluster-file", f"{NAME}-client-tls"


class Exporters(search.Exporters):
    """The exporter's processes: they read the database if their program has a version that it talks to."""

    def reads(self, pod: Stored) -> bool:
        version = search.image_of(pod, "fdbcli").rpartition(":")[2]
        return series(version) == series(self._world.deployed)


class World(search.World):
    """One API server, one cluster that was formed, and its exporter; the database is never asked."""

    def __init__(self, seed: int = 1, version: str = OLD, *, secured: bool = False) -> None:
        super().__init__(seed, FOUNDATIONDB, version)
        self.secret(FILE, **{"fdb.cluster": "prod_logs_x:y@logs-storage-0-0.logs-members.prod.svc:4500"})
        self.secured = secured
        self.set_status(version)
        if secured:
            self.secret(TLS, **{"tls.crt": "c", "tls.key": "k", "ca.crt": "a", "verify_peers": "S.CN=x"})

    def first_spec(self, version: str) -> dict[str, Any]:
        pools = [{"name": each, "processClass": each, "replicas": 3} for each in ("storage", "log", "stateless")]
        return {"version": version, "pools": pools}

    def make_instances(self) -> Exporters:
        return Exporters(self)

    def target(self, kind: str, key: Key) -> Target | None:
        raise AssertionError(f"{kind} {key}: the exporter of FoundationDB needs no answer of its database")

    def settings(self, pod: Stored) -> dict[str, Any] | None:
        mounted = [each["secret"]["secretName"] for each in pod.doc["spec"]["volumes"] if "secret" in each]
        if not all(self.texts(name) for name in mounted):
            return None  # The kubelet waits for what the pod mounts.
        texts = self.texts(next(each for each in mounted if each.startswith(f"{NAME}-metrics-")))
        found = msgspec.json.decode(texts[SETTINGS], type=FoundationSettings)
        assert texts["ask.sh"].startswith("#!/bin/bash")
        return msgspec.to_builtins(found)

    def joined(self, **versions: str) -> None:
        """Let members have joined with versions, as the rounds of the database record them."""
        live = self.cluster_object()
        states = [{"name": f"logs-{name}", "version": version} for name, version in versions.items()]
        self.context.change(live, ("status",), {**live.doc["status"], "memberStates": states})

    def program(self) -> str:
        """Return the image of the program that asks the database."""
        (pod,) = self.pods()
        return search.image_of(pod, "fdbcli")

    def upgrade(self, version: str, *, asked_only: bool = False) -> None:
        """Ask for a version, and let the members run it, unless only asked for."""
        self.edit(version=version)
        if not asked_only:
            self.set_status(version)
