"""A scenario: a world without random faults and with a formed cluster, injected faults, and checks."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.campaign.run import QUIET, Plan, Run
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.node import Node
from stateward.simulation.properties.goal import unmet
from stateward.simulation.world import log_capture
from stateward.simulation.world.world import NAME, Layout

PODS, SETS, CLAIMS, SECRETS = "/pods", "apps/statefulsets", "/persistentvolumeclaims", "/secrets"
CALM: frozenset[str] = frozenset()


def managers(replicas: int = 3, **more: Any) -> Json:
    return pool("managers", replicas, ["cluster_manager"], "1Gi", **more)


def hot(replicas: int = 3, **more: Any) -> Json:
    return pool("hot", replicas, ["data", "ingest"], "5Gi", **more)


def pool(name: str, replicas: int, roles: list[str], size: str = "2Gi", **more: Any) -> Json:
    return {"name": name, "replicas": replicas, "roles": roles, "storage": {"size": size}, **more}


class Scenario:
    """One world, its operator and its user; `check` at the end."""

    def __init__(
        self,
        *pools: Json,
        layout: Layout | None = None,
        seed: int = 1,
        processes: int = 1,
        agents: bool = False,
        **spec: Any,
    ) -> None:
        whole: Json = {"version": "2.17.1", "pools": list(pools) or [managers(), hot()], **spec}
        where = layout or Layout()
        plan = Plan(only=CALM, layout=where, spec=whole, processes=processes, quiet_start=True, agents=agents)
        self.run = Run(seed, plan, asyncio.get_running_loop())
        self.world = self.run.world
        self.user = self.run.user
        self.process = self.run.processes[0]
        self.made: list[tuple[str, str]] = []
        self.removed: list[tuple[str, str]] = []
        self.most_down = 0
        self.red = 0.0
        self.world.store.subscribers.append(self._on_event)
        self._watching: asyncio.Task[None] | None = None

    @contextmanager
    def logged(self) -> Generator["Scenario"]:
        """Capture the operator's log while the block runs, and kill the operator after it."""
        with log_capture.to(self.run._on_log_event):
            try:
                yield self
            finally:
                self.process.kill()
                if self._watching is not None:
                    self._watching.cancel()

    async def begin(self, indices: int = 3) -> "Scenario":
        """Create the cluster, wait until it is there, put indices into it, and count from then on."""
        self.process.start()
        self.user.create()
        assert await self.until(lambda: not unmet(self.world)), unmet(self.world)
        for number in range(indices):
            self.database.create_index(f"first-{number}", 1, 20 * 2**20, 5.0)
        await asyncio.sleep(90.0)
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        self.made.clear()
        self.removed.clear()
        return self

    @property
    def database(self) -> Cluster:
        found = self.world.database()
        assert found is not None
        return found

    def nodes(self) -> list[Node]:
        """Return the database's nodes."""
        return list(self.database.nodes.values())

    @property
    def status(self) -> Json:
        resource = self.world.resource()
        assert resource is not None
        return part(resource.doc, "status")

    @property
    def waits(self) -> str:
        return " | ".join(f"{w['subject']} {w['reason']}: {w['message']}" for w in self.status.get("waiting", []))

    def edit(self, **changes: Any) -> None:
        """Change the spec as a user does."""
        self.user.set("edit", **changes)

    def pools(self, *pools: Json) -> None:
        self.edit(pools=list(pools))

    def uids(self, kind: str) -> dict[str, str]:
        """Return the UIDs of a kind's objects by name."""
        return {s.key.name: s.uid for s in self.world.store.all(kind) if names.LABEL_CLUSTER in s.labels}

    def object(self, kind: str, name: str, namespace: str = "data") -> Stored | None:
        found = [s for s in self.world.store.all(kind) if s.key == (namespace, name)]
        return found[0] if found else None

    async def until(self, condition: Callable[[], Any], seconds: float = 3600.0) -> bool:
        """Wait until a condition holds; False when it did not within so many virtual seconds."""
        end = self.world.now + seconds
        while self.world.now < end:
            if condition():
                return True
            await asyncio.sleep(0.5)
        return False

    async def settle(self, quiet: float = QUIET) -> None:
        """Wait until the desired state is reached, and see that nothing is written then."""
        await self.run.settle(quiet)
        self.check()

    def check(self) -> None:
        """Assert that nothing was violated."""
        self.run.outcome()
        assert not self.run.violations, "\n".join(map(str, self.run.violations[:5]))

    def disrupted(self) -> list[str]:
        """Return the members whose pods the operator deleted, in order."""
        return [member for _, member in self.run.watchdog.disruptions]

    def prepared(self) -> list[str]:
        """Return the members whose next pod would be made from something else than what they run."""
        found: list[str] = []
        for workload in self.world.store.all(SETS):
            pod = self.object(PODS, names.pod(workload.key.name))
            template = workload.doc["spec"]["template"]["metadata"]["annotations"][names.ANNOTATION_INPUTS]
            if (
                pod is not None
                and not pod.terminating
                and pod.meta["annotations"].get(names.ANNOTATION_INPUTS) != template
            ):
                found.append(workload.key.name)
        return found

    def crash_after(self, verb: str, kind: str, nth: int = 1) -> None:
        """Kill the operator right after its nth write of this verb to this kind."""
        left = [nth]

        def wrote(verb_: str, kind_: str) -> None:
            if (verb_, kind_) == (verb, kind):
                left[0] -= 1
                if left[0] == 0:
                    self.process.kill()

        self.process.write_done = wrote

    def _on_event(self, kind: str, event: Event) -> None:
        if event.old is None and event.new is not None:
            self.made.append((kind, event.new.key.name))
        if event.new is None and event.old is not None:
            self.removed.append((kind, event.old.key.name))

    async def _watch(self) -> None:
        """See every two seconds how many members are away that should be there, and whether the database is red."""
        while True:
            database = self.world.database(NAME)
            wanted = {
                s.key.name
                for s in self.world.store.all(SETS)
                if s.doc["spec"].get("replicas", 1) > 0 and database is not None and s.key.name in database.seen
            }
            there = {n.name for n in database.nodes.values() if n.reachable} if database is not None else set[str]()
            self.most_down = max(self.most_down, len(wanted - there))
            self.red += 2.0 * (database is not None and database.health == "red")
            await asyncio.sleep(2.0)
