"""Checks the verification of snapshots: what is called verified, where it was restored, and what is left of it.

Letter q of docs/properties.md. A throw-away cluster has the name of its schedule after `verify-`.
"""

from collections.abc import Iterator

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.connection.base import Call
from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.store import Event
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.snapshots import about_snapshots
from stateward.simulation.properties.declared.task_audit import DONE, TaskAudit
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.world.declared_objects import OBJECTS, RESTORES, SCHEDULES, is_throwaway
from stateward.simulation.world.world import NAMESPACE, World

MADE = ("/persistentvolumeclaims", "/pods", "/secrets", "/services", "apps/statefulsets")
"""The kinds of objects of a cluster of which nothing may be left."""


class VerificationWatchdog(TaskAudit):
    """Checks what is called verified, and throw-away clusters."""

    def __init__(self, world: World, violations: list[Violation]) -> None:
        super().__init__(world, violations)
        self._whole: set[str] = set()
        """The UUIDs of the snapshots that were restored in a throw-away cluster, and were not damaged then."""
        world.store.subscribers.append(self._on_event)

    def performing(self, cluster: Cluster, call: Call) -> None:
        """Check that a throw-away cluster only reads the repository: its files are those of the source."""
        body: Json = call.body or {}
        parts = call.path.strip("/").split("/")
        if call.method == "GET" or parts[0] != "_snapshot" or not is_throwaway(cluster.name.rpartition(".")[2]):
            return
        if len(parts) == 2 and call.method == "PUT" and str(body["settings"].get("readonly")).lower() != "true":
            self._violated("q", "the repository of a throw-away cluster is not read-only")
        if len(parts) == 3 and parts[2] != "_verify":
            self._violated("q", f"{call.method} {call.path} changes a repository from a throw-away cluster")

    def performed(self, cluster: Cluster, call: Call, status: int) -> None:
        """Note what is restored in a throw-away cluster."""
        parts = call.path.strip("/").split("/")
        restores = about_snapshots(call.method, call.path, call.params or {}) and parts[-1] == "_restore"
        if not restores or status >= DONE or not is_throwaway(cluster.name.rpartition(".")[2]):
            return
        self._world.context.count("declared: operator restores to verify")
        taken = self._world.databases.repositories.get(parts[1], {}).get(parts[2])
        if taken is not None and not taken.damaged:
            self._whole.add(taken.uuid)

    def _on_event(self, kind: str, event: Event) -> None:
        if kind != SCHEDULES or event.new is None:
            return
        before, after = (
            {} if each is None else part(each.doc, "status", "verification") for each in (event.old, event.new)
        )
        success, failure = after.get("lastSuccess"), after.get("lastFailure")
        if failure is not None and failure != before.get("lastFailure"):
            self._world.context.count("declared: verification failed")
        if success is None or success == before.get("lastSuccess"):
            return
        self._world.context.count("declared: snapshot verified")
        self._world.context.trace(f"the snapshot {success['name']} is verified")
        taken = self._world.databases.repositories.get(event.new.doc["spec"]["repository"], {}).get(success["name"])
        if taken is not None and taken.uuid not in self._whole:
            self._violated("q", f"the snapshot {taken.name} is called verified, and was not restored whole")

    def unmet(self) -> Iterator[str]:
        """Yield the verifications that have not ended, and what is left of throw-away clusters."""
        store = self._world.store
        for schedule in store.all(SCHEDULES):
            # One that waits for its repository ends at its time limit.
            if "snapshot" in part(schedule.doc, "status", "verification"):
                yield f"the verification of {schedule.key.name} has not ended"
        for kind in (self._world.clusters, OBJECTS, RESTORES):
            for found in store.all(kind):
                if is_throwaway(found.key.name):
                    yield f"{kind} {found.key.name} of a verification is left"
        for kind in MADE:
            for found in store.all(kind):
                cluster = found.labels.get(names.LABEL_CLUSTER, "")
                if found.key.namespace == NAMESPACE and is_throwaway(cluster):
                    yield f"{kind} {found.key.name} of the throw-away cluster {cluster} is left"
