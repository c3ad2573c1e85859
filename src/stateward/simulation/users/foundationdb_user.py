"""The user of a FoundationDB cluster."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from copy import deepcopy
from math import inf
from typing import ClassVar

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.users.edits import Draft, Edit
from stateward.simulation.users.foundationdb_edits import CHOICE, VERSIONS
from stateward.simulation.users.foundationdb_pools import PoolsDraft
from stateward.simulation.users.member_requests import CLEARED_REQUESTS
from stateward.simulation.users.unplaceable_edits import make_placeable
from stateward.simulation.users.user import EXCLUDED_FIELDS, User, correct_storage
from stateward.simulation.world.world import NAMESPACE

PAUSE = 300.0
"""Seconds until the user does again what the operator advises."""


class FoundationDBUser(User):
    """Edits one FoundationDB cluster resource."""

    choice: ClassVar[Sequence[Edit]] = CHOICE
    draft: ClassVar[type[Draft]] = PoolsDraft
    excluded_fields: ClassVar[frozenset[str]] = EXCLUDED_FIELDS | {
        "redundancy",
        "storageEngine",
        "faultDomain",
        "processClass",
    }
    """Includes immutable properties of the database: a changed value means another database."""
    _started_over = -inf
    """The time at which the user had other first coordinators chosen."""

    def request_satisfiable_spec(self) -> None:
        """Request a spec that can be satisfied."""
        spec: Json = deepcopy(self.spec)
        spec["version"] = self._reachable()
        for field in ("update", "members"):
            spec.pop(field, None)
        for holder in [spec, *spec["pools"]]:
            make_placeable(holder)
        spec.get("volumes", {}).pop("whenShrunk", None)
        for pool in spec["pools"]:
            correct_storage(pool["storage"])
        self._apply("satisfiable spec", spec)
        self.annotate(CLEARED_REQUESTS)

    def resolve_waits(self) -> None:
        """Resolve the operator's waits; before there is a database, also that most coordinators do not exist.

        The advice is to delete the Secret of the cluster file and all pods: the operator then chooses others. If the
        Secret is lost while the database does not answer, it is restored from a backup.
        """
        super().resolve_waits()
        resource = self._world.resource(self._name)
        waits = items(resource.doc, "status", "waiting") if resource is not None else []
        if resource is not None and any(wait["reason"] == "ClusterFileLost" for wait in waits):
            self._restore_cluster_file(resource)
        lost = any(
            "coordinators do not exist" in wait["message"] and "delete Secret" in wait["message"] for wait in waits
        )
        if lost and self._world.now > self._started_over + PAUSE:
            self._started_over = self._world.now
            self._delete("/secrets", lambda stored: stored.key.name == f"{self._name}-cluster-file")
            self._delete("/pods", lambda stored: stored.labels.get(names.LABEL_CLUSTER) == self._name)

    def _restore_cluster_file(self, resource: Stored) -> None:
        """Restore the Secret as a backup has it: with its owner, and with what the volumes hold."""
        found = next(iter(self._world.foundationdb.databases.values()), None)
        key = Key(NAMESPACE, f"{self._name}-cluster-file")
        if found is None or found.cluster is None or self._world.store.get("/secrets", key) is not None:
            return
        self._world.context.trace("the user restores the cluster file")
        content = b64encode(str(found.cluster.state.connection).encode()).decode()
        owner = {field: resource.doc[field] for field in ("apiVersion", "kind")}
        meta = {
            "name": key.name,
            "labels": {names.LABEL_CLUSTER: self._name, names.LABEL_ENGINE: self._world.kind.engine},
            "ownerReferences": [{**owner, "name": self._name, "uid": resource.uid, "controller": True}],
        }
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
        self._world.server.create("/secrets", NAMESPACE, {**body, "data": {"fdb.cluster": content}}, "kubectl")

    def _delete(self, kind: str, chosen: Callable[[Stored], bool]) -> None:
        for stored in self._world.store.all(kind):
            if chosen(stored) and not stored.terminating:
                self._world.context.trace(f"the user deletes {stored.key.name}")
                self._world.server.delete(kind, stored.key, DeleteOptions(Preconditions(stored.uid)))

    def _reachable(self) -> str:
        """Return a reachable version: the requested one, or else the newest that a process has run.

        While the database is down, only the status shows with which version a member has joined.
        """
        running = {w.version for d in self._world.foundationdb.databases.values() for w in d.processes.values()}
        resource = self._world.resource(self._name)
        status = part(resource.doc, "status") if resource is not None else {}
        joined = {member.get("version", "") for member in status.get("memberStates", ())}
        passed = [version for version in {*running, *joined, status.get("version", "")} if version in VERSIONS]
        newest = max(passed, key=VERSIONS.index, default=VERSIONS[0])
        wanted = self.spec["version"]
        return wanted if wanted in VERSIONS[VERSIONS.index(newest) :] else newest
