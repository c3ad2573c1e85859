"""A scenario of FoundationDB: a world with a database that the operator has created, and checks of it."""

import asyncio
import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from stateward.api.values.base import GROUP, Json
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.metadata import Key
from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.world import log_capture
from stateward.simulation.world.operators import Process
from stateward.simulation.world.world import NAMESPACE, Layout, World

KIND = f"{GROUP}/fdbclusters"
NAME = "logs"
SETS, PODS = "apps/statefulsets", "/pods"


def pool(name: str, replicas: int, **more: Any) -> Json:
    return {"name": name, "processClass": name, "replicas": replicas, "storage": {"size": "1Gi"}, **more}


def pools(storage: int = 5, log: int = 4, stateless: int = 3) -> list[Json]:
    return [pool("storage", storage), pool("log", log), pool("stateless", stateless)]


class Scenario:
    """One world with a cluster called logs, and its operator."""

    def __init__(
        self, *, seed: int = 1, agents: bool = False, capacity: int = 4, where: str = "zone", **spec: Any
    ) -> None:
        layout = Layout(zones=3, nodes_per_zone=4, capacity=capacity, where=where)
        self.world = World(seed, layout, asyncio.get_running_loop())
        self.process = Process(self.world, "op0", foundationdb=True)
        self.process.agent_image = "stateward:1" if agents else ""
        self.process.failed = lambda error: self.failures.append(f"{type(error).__name__}: {error}")
        self.failures: list[str] = []
        self.unavailable = 0.0
        self.short = 0.0
        """Seconds for which some data had one replica only, or none."""
        self.spec: Json = {"version": "7.1.57", "pools": pools(), **spec}
        self._watching: asyncio.Task[None] | None = None

    @contextmanager
    def logged(self) -> Generator["Scenario"]:
        """Listen to the operator's log while the block runs, and end the operator after it."""
        with log_capture.to(self._on_log_event):
            try:
                yield self
            finally:
                self.process.kill()
                if self._watching is not None:
                    self._watching.cancel()

    async def begin(self) -> "Scenario":
        """Create the cluster, and wait until it has settled."""
        self.process.start()
        meta = {"name": NAME, "namespace": NAMESPACE}
        body = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "FoundationDBCluster", "metadata": meta, "spec": self.spec}
        self.world.server.create(KIND, NAMESPACE, body, "kubectl")
        assert await self.settled(), self.doing
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        return self

    @property
    def database(self) -> Ensemble:
        (found,) = self.world.foundationdb.databases.values()
        return found

    @property
    def doc(self) -> Json:
        found = self.world.store.get(KIND, Key(NAMESPACE, NAME))
        assert found is not None
        return found.doc

    @property
    def status(self) -> Json:
        return self.doc.get("status") or {}

    @property
    def doing(self) -> str:
        """Return what it does, and what it waits for."""
        waits = [f"{w['subject']} {w['reason']}: {w['message']}" for w in self.status.get("waiting", [])]
        return " | ".join([str(self.status.get("activity")), *waits, *self.failures])

    def edit(self, **changes: Any) -> None:
        """Change the spec as a user does."""
        self.spec = {**self.spec, **changes}
        found = self.world.store.get(KIND, Key(NAMESPACE, NAME))
        assert found is not None
        self.world.server.patch(KIND, found.key, {"spec": changes}, PatchKind.MERGE, "kubectl")

    def ready(self) -> bool:
        """Return whether the operator has seen the newest spec and nothing is left to do."""
        seen = self.status.get("observedGeneration") == self.doc["metadata"]["generation"]
        found = {c["type"]: c["status"] for c in self.status.get("conditions", [])}
        return seen and found.get("Ready") == "True"

    async def settled(self, seconds: float = 3600.0) -> bool:
        """Wait until it has settled, and stays so for a minute."""
        if not await self.until(self.ready, seconds):
            return False
        await asyncio.sleep(60.0)
        return self.ready() or await self.until(self.ready, seconds)

    async def until(self, condition: Callable[[], Any], seconds: float = 3600.0) -> bool:
        end = self.world.now + seconds
        while self.world.now < end:
            if condition():
                return True
            await asyncio.sleep(1.0)
        return False

    def members(self) -> set[str]:
        """Return the members that have a StatefulSet."""
        return {s.key.name for s in self.world.store.all(SETS)}

    def scaled_to_zero(self) -> set[str]:
        """Return the members whose StatefulSets ask for no pod."""
        return {s.key.name for s in self.world.store.all(SETS) if not s.doc["spec"]["replicas"]}

    def pods(self) -> dict[str, str]:
        """Return the UIDs of the pods by name."""
        return {s.key.name: s.uid for s in self.world.store.all(PODS)}

    def removals(self) -> dict[str, str]:
        return {entry["name"]: entry["phase"] for entry in self.status.get("pendingRemovals", [])}

    async def look(self) -> Json:
        """Return the database's own status, by the command line of any pod that has one."""
        pod = next(pod for pod in self.world.foundationdb.pods.values() if pod.reachable)
        client = pod.client()
        found = await self.database.ask(client, {"op": "status"})
        assert found is not None
        return json.loads(json.dumps(found))

    async def excluded(self) -> list[Json]:
        return (await self.look())["cluster"]["configuration"]["excluded_servers"]

    async def processes(self) -> dict[str, Json]:
        found = (await self.look())["cluster"]["processes"].values()
        return {p["locality"]["instance_id"]: p for p in found if p["locality"]}

    def coordinators(self) -> set[str]:
        assert self.database.cluster is not None
        return {name.partition(".")[0].removesuffix("-0") for name in self.database.cluster.state.coordinators}

    def check(self) -> None:
        """Assert that nothing was lost and nothing crashed."""
        assert not self.world.databases.damage.losses
        assert not self.failures, self.failures[:3]

    def crash_after(self, nth: int) -> None:
        """Kill the operator right after its nth write, to the API server or to the database."""
        left = [nth]

        def wrote(*_: str) -> None:
            left[0] -= 1
            if left[0] == 0:
                self.process.kill()

        self.process.write_done = wrote
        self.process.command_done = wrote

    def _on_log_event(self, event: str, values: Mapping[str, object]) -> None:
        error = values.get("exc_info")
        if isinstance(error, BaseException) and not log_capture.expected(error):
            self.failures.append(f"{event}: {type(error).__name__}: {error}")
        if event == "action":
            self.world.context.count(f"action: {values.get('action')}")

    async def _watch(self) -> None:
        """See every second whether the database is available, and whether all data has two replicas."""
        while True:
            cluster = (await self.look())["cluster"]
            self.unavailable += not cluster.get("database_available")
            team = cluster.get("data", {}).get("state", {})
            self.short += bool(team) and team.get("min_replicas_remaining", 0) < 1
            await asyncio.sleep(1.0)
