"""Checks each request of the operator that changes an object in a database, by what the operator knew.

The letters are those of docs/properties.md.
"""

import asyncio
from typing import NamedTuple

from stateward.api.kinds.search_object import Claim
from stateward.api.values.base import Json
from stateward.engines.connection.base import Call
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.audit import Write
from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.stored_objects import changed_by, concerned, is_user
from stateward.simulation.properties.declared.statuses import is_ready, reason_of
from stateward.simulation.properties.declared.task_audit import DONE, TaskAudit
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.world.declared_objects import (
    DECLARED,
    OBJECTS,
    cluster_of,
    is_settings,
    is_throwaway,
    owner_in,
    path_of,
)
from stateward.simulation.world.world import NAMESPACE, World


class Author(NamedTuple):
    """The resource for which an object was last written, and what the database stored then."""

    uid: str
    content: Json | None


class Agreed(NamedTuple):
    """What a resource declared and the database had when its status became Ready."""

    identity: str
    body: Json
    content: Json | None
    requests: int


class DeclaredWatchdog(TaskAudit):
    """Checks what is stored at the paths of declared objects, except cluster settings."""

    def __init__(self, world: World, violations: list[Violation]) -> None:
        super().__init__(world, violations)
        self._store = world.store
        self._authors: dict[tuple[str, str], Author] = {}
        """By the identity of a database and the path."""
        self._changes: dict[tuple[str, str], int] = {}
        """How often the operator has changed each object."""
        self._agreed: dict[str, Agreed] = {}
        """By UID."""
        self._store.subscribers.append(self._on_event)

    def belongs(self, resource: Stored, cluster: Cluster) -> bool:
        """Return whether the operator has written an object in a database for a resource."""
        author = self._authors.get((cluster.identity, self._path(resource)))
        return author is not None and author.uid == resource.uid

    def is_unconfirmed(self, resource: Stored, cluster: Cluster) -> bool:
        """Return whether another client has changed an object before the operator knew that it had written it.

        The answer to the write was lost. What the operator finds then may be all that other clients have made. Once the
        resource was Ready in this database, the operator knew.
        """
        path = self._path(resource)
        author, agreed = self._authors.get((cluster.identity, path)), self._agreed.get(resource.uid)
        if agreed is not None and agreed.identity == cluster.identity:
            return False
        changed = author is not None and author.content != cluster.objects.content(path)
        return changed and part(resource.doc, "status").get("claim") not in (Claim.OWNED, Claim.MERGED)

    # The API server.

    def read(self, kind: str, key: Key) -> None:
        """Record a live read of a resource."""
        task = asyncio.current_task()
        if kind != OBJECTS or task is None:
            return
        live = self._store.get(kind, key)
        if live is None or is_settings(live):
            self._resources.pop(task, None)
        else:
            self._resources[task] = live

    def writing(self, write: Write) -> None:
        """Check that the operator writes nothing of a resource but its status and its finalizers."""
        if write.kind not in DECLARED or write.subresource == "status":
            return
        if write.verb == "create" and is_throwaway(part(write.body, "metadata").get("name", "")):
            return  # For a verification, and of its cluster.
        meta = part(write.body, "metadata").keys() - {"uid", "resourceVersion", "finalizers"}
        if write.verb != "patch" or meta or write.body.keys() - {"metadata"}:
            self._violated("f", f"{write.verb} of {write.kind} {write.key.name}, which belongs to its users")

    # The databases.

    def performing(self, cluster: Cluster, call: Call) -> None:
        """Check a request right before the database performs it."""
        for path, removes in changed_by(call.method, call.path, call.body or {}).items():
            if not is_user(path):  # Users have a check of their own.
                self._check(cluster, path, removes=removes)

    def performed(self, cluster: Cluster, call: Call, status: int) -> None:
        """Note what was read or written."""
        resource = self._resource()
        if resource is None:
            return
        self._note_versions(cluster, call)
        if call.method == "GET" and concerned(call.path):
            path = self._path(resource)
            self._session().seen[path] = cluster.objects.content(path)
        elif status < DONE:
            self._changed(cluster, call, resource)

    def _changed(self, cluster: Cluster, call: Call, resource: Stored) -> None:
        for path, removes in changed_by(call.method, call.path, call.body or {}).items():
            self.requests += 1
            done = "deletes" if removes else "writes"
            self._world.context.count(f"declared: operator {done} an object")
            self._world.context.trace(f"the operator {done} {path} for {resource.key.name}")
            place = cluster.identity, path
            self._changes[place] = self._changes.get(place, 0) + 1
            # Until its resource is gone, a name in the database is the resource's, also after the deletion.
            self._authors[place] = Author(resource.uid, cluster.objects.content(path))

    def _check(self, cluster: Cluster, path: str, *, removes: bool) -> None:
        session, resource = self._session(), self._resource()
        what = f"{path} is {'deleted' if removes else 'written'}"
        if resource is not None and cluster.name != f"{NAMESPACE}.{cluster_of(resource)}":
            self._violated("l", f"{what} in {cluster.name}, for {resource.key.name} of another cluster")
        if resource is None or self._path(resource) != path:
            self._violated("l", f"{what}, which the resource that was read does not declare")
            return
        if len(session.versions) != 1:
            known = " and ".join(sorted(session.versions)) or "unknown"
            self._violated("k", f"{what} while the versions of the members are {known}")
        if path not in session.seen:
            self._violated("l", f"{what} without a read before")
            return
        seen, author = session.seen[path], self._authors.get((cluster.identity, path))
        spec = part(resource.doc, "spec")
        mine = (author is not None and author.uid == resource.uid) or owner_in(seen) == _name(resource)
        consent = mine or seen is None or spec.get("existing", "Refuse") != "Refuse"
        if not removes:
            self._check_write(cluster, path, resource, seen, consent=consent)
            return
        if not resource.terminating or spec.get("deletionPolicy", "Delete") != "Delete":
            self._violated("m", f"{what} although {resource.key.name} does not ask for that")
        if not consent:
            self._violated("m", f"{what}, which {resource.key.name} has not written")

    def _check_write(self, cluster: Cluster, path: str, resource: Stored, seen: Json | None, *, consent: bool) -> None:
        spec, agreed = part(resource.doc, "spec"), self._agreed.get(resource.uid)
        if resource.terminating or spec.get("paused"):
            self._violated("l", f"{path} is written although {resource.key.name} is paused or being deleted")
        if not consent:
            self._violated("l", f"{path} is written, which others had made, without consent of {resource.key.name}")
        same = agreed is not None and (agreed.identity, agreed.body) == (cluster.identity, spec.get("body"))
        if spec.get("drift") != "Report" or spec.get("values") or agreed is None or not same:
            return
        if agreed.requests == self._changes.get((cluster.identity, path), 0) and seen != agreed.content:
            self._violated("l", f"{path} is written over the change of another client, which is only to be reported")

    # Resources.

    def _on_event(self, kind: str, event: Event) -> None:
        if kind != OBJECTS:
            return
        if event.new is None:
            if event.old is not None and not is_settings(event.old):
                self._gone(event.old)
            return
        self._world.context.count(f"declared: {reason_of(event.new) or 'no status'}")
        if is_ready(event.new) and not is_settings(event.new):
            database, path = self._world.database(cluster_of(event.new)), self._path(event.new)
            if database is not None and part(event.new.doc, "status").get("clusterUUID") == database.identity:
                body, content = part(event.new.doc, "spec")["body"], database.objects.content(path)
                count = self._changes.get((database.identity, path), 0)
                self._agreed[event.new.uid] = Agreed(database.identity, body, content, count)

    def _gone(self, resource: Stored) -> None:
        """Check that an object is deleted with its resource; one that stays belongs to no resource from now on."""
        self._agreed.pop(resource.uid, None)
        name, path = cluster_of(resource), self._path(resource)
        cluster, database = self._world.resource(name), self._world.database(name)
        for place, author in list(self._authors.items()):
            if place[1] == path and author.uid == resource.uid:
                del self._authors[place]
                there = cluster is not None and not cluster.terminating
                if database is None or database.identity != place[0] or not there:
                    continue
                asked = part(resource.doc, "spec").get("deletionPolicy", "Delete") == "Delete"
                same = part(resource.doc, "status").get("clusterUUID") == database.identity
                if asked and same and database.objects.content(path) == author.content is not None:
                    self._violated("m", f"{resource.key.name} is gone, and {path} is left in the database")

    def _path(self, resource: Stored) -> str:
        return path_of(self._world.product.engine, resource.doc["spec"]["object"])


def _name(resource: Stored) -> str:
    return f"{resource.key.namespace}/{resource.key.name}"
