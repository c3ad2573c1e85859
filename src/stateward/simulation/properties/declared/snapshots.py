"""Checks each request of the operator about snapshots and restores, and what there is of them in the end.

The letters are those of docs/properties.md.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator

from stateward.api.values.base import Json
from stateward.engines.connection.base import Call
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.snapshots import ModelSnapshot, about_snapshots, new_name
from stateward.simulation.properties.declared.statuses import is_ready, reason_of
from stateward.simulation.properties.declared.task_audit import DONE, TaskAudit
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.world.declared_objects import RESTORES, SCHEDULES, SNAPSHOTS, cluster_of, is_throwaway
from stateward.simulation.world.world import NAMESPACE, World

OF_HAND, OF_SCHEDULE = "stateward.dev/uid", "stateward.dev/search-snapshot-schedule"
"""The notes in snapshots: the UID of a SearchSnapshot, and the namespace and name of a schedule."""
KINDS = frozenset({SNAPSHOTS, SCHEDULES, RESTORES})


class SnapshotWatchdog(TaskAudit):
    """Checks snapshots, restores, and the indices that they replace."""

    def __init__(self, world: World, violations: list[Violation]) -> None:
        super().__init__(world, violations)
        self._begun: Counter[tuple[str, str]] = Counter()
        """How many snapshots and restores were begun, by the resource's UID and the database's identity."""

    def read(self, kind: str, key: Key) -> None:
        """Record a live read of a resource."""
        task, live = asyncio.current_task(), self._world.store.get(kind, key)
        if kind not in KINDS or task is None or live is None:
            return
        known = self._resources.get(task)
        if known is None or known.kind == kind:  # A schedule's task reads the restore of its verification, too.
            self._resources[task] = live

    def performing(self, cluster: Cluster, call: Call) -> None:
        """Check a request right before the database performs it."""
        resource = self._asking(call)
        if resource is None:
            return
        if is_throwaway(resource.key.name) and not is_throwaway(cluster.name.rpartition(".")[2]):
            self._violated("q", f"{call.method} {call.path} for a verification, in {cluster.name}")
        if cluster.name != f"{NAMESPACE}.{cluster_of(resource)}":
            self._violated("p", f"{call.method} {call.path} in {cluster.name}, for {resource.key.name} of another")
        match call.method, call.path.strip("/").split("/"):
            case "PUT", ["_snapshot", _, name]:
                self._check_begin(resource, name)
            case "DELETE", ["_snapshot", repository, name]:
                self._check_deletion(resource, repository, name)
            case "POST", ["_snapshot", _, _, "_restore"]:
                body: Json = call.body or {}
                self._check_replaced(cluster, resource, [new_name(index, body) for index in body["indices"]])
            case "POST", [indices, "_close"]:
                self._check_replaced(cluster, resource, indices.split(","))
            case _:
                pass

    def performed(self, cluster: Cluster, call: Call, status: int) -> None:
        """Note what was read or written."""
        self._note_versions(cluster, call)
        resource = self._asking(call)
        if resource is None or call.method == "GET" or status >= DONE or call.path.endswith("/_search"):
            return
        self.requests += 1
        self._world.context.count(f"declared: operator sends {call.method} about snapshots")
        self._world.context.trace(f"the operator sends {call.method} {call.path} for {resource.key.name}")
        begins = call.method == "PUT" or call.path.endswith("/_restore")
        if not begins or resource.kind == SCHEDULES:
            return
        # A repository outlives the database, so a snapshot is taken once; what was restored is lost with a database.
        place = resource.uid, cluster.identity if resource.kind == RESTORES else ""
        self._begun[place] += 1
        if self._begun[place] > 1:
            self._violated("o", f"{resource.key.name} begins a second time: {call.path}")

    def unmet(self) -> Iterator[str]:
        """Yield the differences between resources and repositories, and resources that do not come to an end."""
        for kind in sorted(KINDS):
            for resource in self._world.store.all(kind):
                if is_throwaway(resource.key.name):
                    continue
                name, status = resource.key.name, part(resource.doc, "status")
                told = f"{reason_of(resource)}: {status.get('activity', '')}"
                stalled = any(
                    c["type"] == "Stalled" and c["status"] == "True"
                    for c in items(resource.doc, "status", "conditions")
                )
                if resource.terminating:
                    yield f"{kind} {name} is still there ({told})"
                elif not is_ready(resource) and not stalled:
                    yield f"{kind} {name} is neither ready nor stalled ({told})"
                elif kind == SNAPSHOTS:
                    yield from self._differences(resource, told)
                elif kind == SCHEDULES and self._is_usable(resource) == (reason_of(resource) == "Refused"):
                    # The operator looks for the repository once an hour: until then a write of the status is due.
                    yield f"the SearchSnapshotSchedule {name} does not say yet whether its repository is there ({told})"

    def _is_usable(self, resource: Stored) -> bool:
        database = self._world.database()
        return database is not None and resource.doc["spec"]["repository"] in database.objects.repositories()

    def _differences(self, resource: Stored, told: str) -> Iterator[str]:
        repository = resource.doc["spec"]["repository"]
        found = self._world.databases.repositories.get(repository, {}).get(resource.key.name)
        mine = found is not None and found.metadata.get(OF_HAND) == resource.uid
        usable = self._is_usable(resource)
        if is_ready(resource):
            if found is None or not mine or found.state != "SUCCESS":
                yield f"the SearchSnapshot {resource.key.name} is Ready, and the repository has {found}"
            elif part(resource.doc, "status").get("sizeBytes") is None:
                # It was asked for once, and is asked for again after an hour: until then a write of the status is due.
                yield f"the size of the SearchSnapshot {resource.key.name} is not known yet"
            elif not usable:
                # The operator looks for it once an hour: until then a write of the status is due.
                yield f"the SearchSnapshot {resource.key.name} is Ready, and its repository is not declared any more"
            return
        true = {"SnapshotExists": found is not None and not mine, "SnapshotMissing": found is None}
        if usable and not true.get(reason_of(resource), False):
            yield f"the SearchSnapshot {resource.key.name} is not Ready ({told})"

    def _asking(self, call: Call) -> Stored | None:
        """Return the resource for which a request is sent; None if it is not about snapshots."""
        return self._resource() if about_snapshots(call.method, call.path, call.params or {}) else None

    def _check_begin(self, resource: Stored, name: str) -> None:
        spec = part(resource.doc, "spec")
        if resource.terminating or spec.get("paused") or resource.kind == RESTORES:
            self._violated("o", f"the snapshot {name} is begun although {resource.key.name} does not ask for it")

    def _check_deletion(self, resource: Stored, repository: str, name: str) -> None:
        if len(self._session().versions) != 1:
            self._violated("k", f"the snapshot {name} is deleted while the versions of the members are not one")
        snapshots = self._world.databases.repositories.get(repository, {})
        found, spec = snapshots.get(name), part(resource.doc, "spec")
        if found is None:
            return
        if resource.kind == SNAPSHOTS:
            asked = resource.terminating and spec.get("deletionPolicy", "Retain") == "Delete"
            allowed = asked and found.metadata.get(OF_HAND) == resource.uid
        else:
            allowed = resource.kind == SCHEDULES and self._expires(resource, found, list(snapshots.values()))
        if not allowed:
            self._violated("o", f"the snapshot {name} is deleted, which {resource.key.name} does not ask for")

    def _expires(self, schedule: Stored, found: ModelSnapshot, snapshots: list[ModelSnapshot]) -> bool:
        """Return whether the retention of a schedule lets a snapshot go: never the last ones of those that it keeps."""
        spec, owner = part(schedule.doc, "spec"), f"{schedule.key.namespace}/{schedule.key.name}"
        own = [each for each in snapshots if each.metadata.get(OF_SCHEDULE) == owner]
        later = [each for each in own if each.began > found.began and each.state == "SUCCESS"]
        return found in own and not spec.get("paused") and len(later) >= spec["retention"]["maxCount"]

    def _check_replaced(self, cluster: Cluster, resource: Stored, names: list[str]) -> None:
        there = sorted(name for name in names if name in cluster.snapshots.indices)
        if there and (resource.kind != RESTORES or part(resource.doc, "spec").get("existing") != "Replace"):
            self._violated("p", f"{', '.join(there)} would be replaced, which {resource.key.name} does not ask for")
