"""An API server in memory on the running event loop, in real time: for what follows clusters with watches."""

import asyncio
import copy
import random
from datetime import UTC, datetime
from typing import Any

from stateward.cli.shared.session import Session
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network, Rates
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server

KINDS = {"OpenSearchCluster": "stateward.dev/osclusters", "ElasticsearchCluster": "stateward.dev/esclusters"}
HEALTHS = ("green", "green", "green", "green", "yellow", "red", "unknown")


class MemoryServer:
    """The server; create it inside of a running loop."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.store = Store(loop.time, lambda: datetime.now(UTC))
        self.server = Server(self.store)
        rng = random.Random(0)  # noqa: S311 - it draws nothing
        network = Network(rng, lambda _: None, rates=Rates(latency=(0.0, 0.0)))
        self.api = WorldApi(self.server, ChangeSignal(self.store), network, "kubectl")
        for name in ("default", "data"):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.server.create("/namespaces", "", body)

    def session(self, namespace: str = "") -> Session:
        """Return a session with this server."""
        return Session(self.api, namespace)

    def add(self, cluster: dict[str, Any]) -> None:
        """Add a cluster with its status."""
        body = copy.deepcopy(cluster)
        status, kind = body.pop("status"), KINDS[body["kind"]]
        meta = body["metadata"]
        body["metadata"] = {key: meta[key] for key in ("name", "annotations") if key in meta}
        stored = self.server.create(kind, meta["namespace"], body, "kubectl")
        self.store.put(kind, {**stored.doc, "status": status}, stored.managers)


def many(number: int) -> list[dict[str, Any]]:
    """Return clusters of two engines in several namespaces, in different states."""
    return [cluster(n) for n in range(number)]


def cluster(n: int, members: int = 5) -> dict[str, Any]:
    """Return one cluster with members in three zones."""
    engine = ("OpenSearchCluster", "ElasticsearchCluster")[n % 2]
    version = ("2.19.5", "8.19.4")[n % 2]
    health = HEALTHS[n % len(HEALTHS)]
    name, since = f"logs-{n:03}", "2026-11-21T11:57:00Z"
    states = [member(name, m, version, since) for m in range(members)]
    settled = health == "green"
    ready = sum(state["state"] == "Ready" for state in states)
    return {
        "apiVersion": "stateward.dev/v1alpha1",
        "kind": engine,
        "metadata": {"name": name, "namespace": ("data", "default")[n % 3 == 0]},
        "spec": {
            "version": version,
            "pools": [
                {"name": "hot", "replicas": members, "roles": ["data", "master" if n % 2 else "cluster_manager"]}
            ],
        },
        "status": {
            "observedGeneration": 1,
            "version": version,
            "health": health,
            "activity": "the cluster matches its spec" if settled else f"{name}-hot-1 restarts to apply version",
            "members": {"ready": ready, "desired": members},
            "ready": f"{ready}/{members}",
            "pools": [{"name": "hot", "ready": ready, "desired": members, "version": version}],
            "memberStates": states,
            "conditions": [
                {"type": "Ready", "status": str(settled), "reason": "Example", "lastTransitionTime": since},
                {"type": "Available", "status": "True", "reason": "Serving", "lastTransitionTime": since},
            ],
        },
    }


def member(cluster_name: str, m: int, version: str, since: str) -> dict[str, Any]:
    """Return the status of a member: most are ready."""
    state = {1: "Restarting", 7: "Waiting", 11: "Down", 13: "Stopped"}.get(m % 40, "Ready")
    return {
        "name": f"{cluster_name}-hot-{m}",
        "pool": "hot",
        "state": state,
        "version": version,
        "node": f"node-{m % 30}",
        "zone": f"zone-{'abc'[m % 3]}",
        "lastTransitionTime": since,
        "reason": "" if state == "Ready" else f"{cluster_name}-hot-{m} is {state.lower()}",
    }
