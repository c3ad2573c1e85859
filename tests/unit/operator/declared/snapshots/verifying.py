"""A world in which snapshots are verified: throw-away clusters are formed, each with a database, and removed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import OpenSearchCluster
from stateward.engines.connection.base import Call, Target
from stateward.engines.search.database.session import Session, at_any_node
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.apiserver.writing.deletion import GarbageCollector
from stateward.simulation.opensearch.snapshots import Snapshots
from tests.unit.operator.declared.world import CLUSTER, HOME, FakeDatabase, World, now

T = TypeVar("T")
CLUSTERS, OBJECTS, RESTORES = "stateward.dev/osclusters", "stateward.dev/searchobjects", "stateward.dev/searchrestores"
NAME = "verify-hourly"
HOUR = 3600.0
FORMING = 90.0
"""Seconds from the creation of a cluster until its database answers."""
VERIFY = {"schedule": "30 */6 * * *"}
REPOSITORY = {"type": "fs", "settings": {"location": "/mnt/backups"}}


class ThrowawayDatabase(FakeDatabase):
    """The database of the throw-away cluster; `identity` is of the one that exists now."""

    name = "prod-throwaway"
    identity = ""

    def _greeting(self, _: Call) -> tuple[int, Any]:
        return 200, {"cluster_name": self.name, "cluster_uuid": self.identity, "master_node": "n0", "blocks": {}}


class VerifyingWorld(World):
    """The cluster `logs`, its hourly schedule, and the throw-away clusters that are made for it."""

    def __init__(self, seed: int = 1, /, verify: dict[str, Any] | None = None, **spec: Any) -> None:
        super().__init__(seed, "SearchSnapshotSchedule")
        self.verifies = True
        self.garbage = GarbageCollector(self.store, self._later)
        self.throwaway = ThrowawayDatabase(self.wire(seed), Snapshots(now))
        self.forms = True
        self.made: list[Stored] = []
        self.store.subscribers.append(self._on_event)
        stored = self.database.snapshots.repositories.setdefault("files", {})
        self.throwaway.snapshots.repositories["files"] = stored
        self.database.snapshots.add_index("logs-1", 3)
        self.database.snapshots.add_index("logs-2", 4)
        self.source()
        self.repository()
        self.declare("hourly", **{"repository": "files", "schedule": "0 * * * *", "verify": verify or VERIFY, **spec})

    def _later(self, seconds: float, do: Callable[[], None]) -> None:
        self.context.later(seconds, do)

    def source(self, spec: dict[str, Any] = CLUSTER["spec"], **status: Any) -> None:
        """Store the cluster whose snapshots are verified."""
        head = {key: CLUSTER[key] for key in ("apiVersion", "kind")}
        self.server.create(CLUSTERS, HOME, {**head, "metadata": {"name": "logs"}, "spec": spec})
        live = self.store.get(CLUSTERS, Key(HOME, "logs"))
        assert live is not None
        self.context.change(live, ("status",), {**CLUSTER["status"], **status})

    def repository(self, **spec: Any) -> None:
        """Declare the repository of the cluster."""
        wanted = {
            "cluster": {"kind": "OpenSearchCluster", "name": "logs"},
            "object": "snapshotRepository/files",
            "body": REPOSITORY,
            **spec,
        }
        head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "SearchObject", "metadata": {"name": "backups"}}
        self.server.create(OBJECTS, HOME, {**head, "spec": wanted})

    def _on_event(self, kind: str, event: Any) -> None:
        if kind != CLUSTERS or event.new is None or event.new.key.name == "logs":
            return
        if event.old is None:
            self.made.append(event.new)
            self.throwaway.snapshots.indices.clear()
            self.throwaway.objects.__init__()
            self.context.later(FORMING, self._form, event.new.uid)

    def _form(self, uid: str) -> None:
        live = self.throwaway_cluster()
        if self.forms and live is not None and live.uid == uid and not live.terminating:
            self.throwaway.identity = f"uuid-of-{uid}"
            self.context.change(live, ("status",), {"clusterUUID": self.throwaway.identity, "version": "2.19.3"})

    def throwaway_cluster(self) -> Stored | None:
        return self.store.get(CLUSTERS, Key(HOME, NAME))

    def part(self, plural: str) -> dict[str, Any] | None:
        """Return an object that is made for the verification; None if there is none."""
        found = self.store.get(plural, Key(HOME, NAME))
        return None if found is None else found.doc

    def remove(self, plural: str, name: str = NAME) -> None:
        live = self.store.get(plural, Key(HOME, name))
        assert live is not None
        self.server.delete(plural, live.key, DeleteOptions(Preconditions(live.meta["uid"])))

    def verification(self) -> dict[str, Any]:
        return self.status("hourly").get("verification") or {}

    def edit(self, **spec: Any) -> None:
        """Change the schedule; None removes a field."""
        live = self.store.get(self.plural, Key(HOME, "hourly"))
        assert live is not None
        wanted = {**live.doc["spec"], **spec}
        self.server.update(
            self.plural, live.key, {**live.doc, "spec": {k: v for k, v in wanted.items() if v is not None}}
        )

    # Databases of the controller.

    def cluster(self, kind: str, key: Key) -> Cluster | None:
        if key.name == "logs":
            return super().cluster(kind, key)
        found = self.store.get(CLUSTERS, key)
        return None if found is None else msgspec.convert(found.doc, OpenSearchCluster)

    async def gone(self, kind: str, key: Key) -> bool:
        return self.cluster(kind, key) is None

    def target(self, kind: str, key: Key) -> Target | None:
        if key.name == "logs":
            return super().target(kind, key)
        found = self.cluster(kind, key)
        identity = "" if found is None else found.status.cluster_uuid
        return Target(("http://10.0.0.9:9200",), ThrowawayDatabase.name, identity) if identity else None

    async def ask(self, kind: str, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        if target.name != ThrowawayDatabase.name:
            return await super().ask(kind, target, work)
        return await at_any_node(self.throwaway, target, work)

    async def verified(self, seconds: float = 8 * HOUR) -> dict[str, Any]:
        """Wait until a snapshot has been verified and nothing of it is left; returns it."""
        known = self.verification().get("lastSuccess")
        await self.until(lambda: self.verification().get("lastSuccess") not in (None, known), seconds)
        await self.until(self.nothing_left, HOUR)
        return self.verification()["lastSuccess"]

    def nothing_left(self) -> bool:
        parts = [self.part(plural) for plural in (CLUSTERS, OBJECTS, RESTORES)]
        return parts == [None] * 3 and not self.verification().get("snapshot")


async def asleep(hours: float) -> None:
    await asyncio.sleep(hours * HOUR)
