"""The verbs of the server, each atomic; `client` adds the network."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from stateward.kube.client.client import ApplyOptions, DeleteOptions, PatchKind
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part, put
from stateward.simulation.apiserver.kinds import kind_of
from stateward.simulation.apiserver.refusals import conflict, exists, invalid, not_found, refusal
from stateward.simulation.apiserver.store import Fields, Manager, Store, Stored
from stateward.simulation.apiserver.writing import deletion
from stateward.simulation.apiserver.writing.admission import Admission
from stateward.simulation.apiserver.writing.apply import apply
from stateward.simulation.apiserver.writing.merging import json_patch, merge_patch
from stateward.simulation.apiserver.writing.ownership import after_update

_SERVER_OWNED = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields")


class Server:
    """All requests of the API server, without a network."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.admission = Admission(store)
        self.evictions: Callable[[Stored], None] = lambda _: None
        """Raises TooManyRequests if a disruption budget forbids the eviction of a pod."""
        self._names = 0

    def get(self, kind: str, key: Key) -> Stored:
        """Return an object; raises NotFound."""
        found = self.store.get(kind, key)
        if found is None:
            raise not_found(kind.partition("/")[2], key)
        return found

    def create(self, kind: str, namespace: str, body: Doc, manager: str = "create", *, dry: bool = False) -> Stored:
        """Create an object; raises AlreadyExists, Invalid, Forbidden."""
        given = part(body, "metadata")
        name = given.get("name") or self._fresh(given.get("generateName", ""))
        key = Key(namespace or given.get("namespace", "") if kind_of(kind).namespaced else "", name)
        if not name:
            raise refusal(422, "Invalid", "name or generateName is required")
        if self.store.get(kind, key) is not None:
            raise exists(kind.partition("/")[2], key)
        doc = {n: v for n, v in body.items() if n != "status" or not kind_of(kind).status}
        return self._insert(kind, key, doc, Manager(manager, "", applies=False), dry=dry)

    def apply(self, kind: str, key: Key, body: Doc, options: ApplyOptions) -> Stored:
        """Apply a configuration; raises Conflict if other managers own its fields and `force` is not set."""
        live = self.store.get(kind, key)
        manager = Manager(options.manager, options.subresource, applies=True)
        body = {n: v for n, v in body.items() if v is not None}
        given = part(body, "metadata")
        if live is None:
            if options.subresource:
                raise not_found(kind.partition("/")[2], key)
            if given.get("uid"):  # A resourceVersion alone is no obstacle: the real server creates the object.
                raise conflict(kind, key, "it is not there, and a UID was asked for")
            config = {n: v for n, v in body.items() if n != "status" or not kind_of(kind).status}
            return self._insert(kind, key, config, manager, dry=options.dry_run)
        self._same(live, given)
        config = self._part(kind, _clean(body, live), options.subresource)
        applied = apply(kind, live.doc, live.managers, config, manager)
        if not options.subresource:
            self.admission.check(kind, key, applied.doc)
        if applied.conflicts and not options.force:
            fields = [f".{'.'.join(map(str, path))}" for _, path in applied.conflicts]
            raise conflict(kind, key, f"conflict with {applied.conflicts[0][0].name!r}", fields)
        return self._update(live, applied.doc, applied.managers, options.subresource, dry=options.dry_run)

    def patch(
        self, kind: str, key: Key, patch: object, how: PatchKind, subresource: str = "", manager: str = "patch"
    ) -> Stored:
        """Patch an object or its subresource; raises Conflict if it names another version."""
        live = self.get(kind, key)
        if subresource == "scale":
            scaled = put(live.doc, ("spec", "replicas"), part(cast("Doc", patch), "spec")["replicas"])
            return self._changed(live, scaled, "", manager)
        if how is PatchKind.MERGE:
            given = part(cast("Doc", patch), "metadata")
            self._same(live, given)
            doc = merge_patch(live.doc, self._part(kind, _clean(cast("Doc", patch), live), subresource))
        else:
            doc = json_patch(live.doc, cast("Sequence[Any]", patch))
            self._same(live, doc["metadata"])
        return self._changed(live, doc, subresource, manager)

    def update(self, kind: str, key: Key, doc: Doc, subresource: str = "", manager: str = "update") -> Stored:
        """Replace an object; raises Conflict if it was read at another version."""
        live = self.get(kind, key)
        self._same(live, part(doc, "metadata"))
        return self._changed(live, doc, subresource, manager)

    def delete(self, kind: str, key: Key, options: DeleteOptions) -> Stored | None:
        """Delete an object; return it while it terminates, None once it is deleted."""
        stored = self.get(kind, key)
        deletion.check(stored, options)
        return stored if options.dry_run else deletion.delete(self.store, stored, options)

    def evict(self, key: Key, options: DeleteOptions) -> None:
        """Delete a pod if its disruption budget allows it; raises TooManyRequests otherwise."""
        pod = self.get("/pods", key)
        deletion.check(pod, options)
        if pod.terminating:
            return
        self.evictions(pod)
        if not options.dry_run:
            deletion.delete(self.store, pod, options)

    def _insert(self, kind: str, key: Key, doc: Doc, manager: Manager, *, dry: bool) -> Stored:
        meta = {n: v for n, v in part(doc, "metadata").items() if n not in _SERVER_OWNED and n != "generateName"}
        meta |= {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        stated, doc = doc.keys() | {"metadata"}, self.admission.on_create(kind, key, {**doc, "metadata": meta})
        # The status that a new object begins with is the server's.
        written = {n: v for n, v in doc.items() if n in stated} | {"metadata": meta}
        owned = after_update(kind, {"metadata": {}}, written, {}, manager)
        meta = {**doc["metadata"], "uid": self.store.new_uid(), "creationTimestamp": self.store.timestamp()}
        if kind_of(kind).generation:
            meta["generation"] = 1
        doc = {**doc, "metadata": meta}
        if dry:
            return Stored(kind, {**doc, "metadata": {**meta, "resourceVersion": "0"}}, 0, owned)
        return self.store.put(kind, doc, owned)

    def _changed(self, live: Stored, doc: Doc, subresource: str, manager: str) -> Stored:
        doc = {**doc, "metadata": {**doc["metadata"], **_server_meta(live)}}
        if kind_of(live.kind).status:
            kept = doc if subresource == "status" else live.doc
            base = live.doc if subresource == "status" else doc
            doc = {n: v for n, v in base.items() if n != "status"}
            doc |= {"status": kept["status"]} if "status" in kept else {}
        if not subresource:
            # Admission comes first: a document that is not an object of its kind cannot be compared or merged.
            self.admission.check(live.kind, live.key, doc)
        if doc == live.doc:
            return live
        writer = Manager(manager, subresource, applies=False)
        owners = after_update(live.kind, live.doc, doc, live.managers, writer)
        return self._update(live, doc, owners, subresource)

    def _update(
        self, live: Stored, doc: Doc, managers: Mapping[Manager, Fields], subresource: str, *, dry: bool = False
    ) -> Stored:
        doc = {**doc, "metadata": {**doc["metadata"], **_server_meta(live)}}
        added = set(items(doc, "metadata", "finalizers")) - set(items(live.doc, "metadata", "finalizers"))
        if live.terminating and added:
            raise invalid(live.kind, live.key, "metadata.finalizers", f"{sorted(added)} cannot be added now")
        if not subresource:
            doc = self.admission.on_update(live.kind, live.key, live.doc, doc)
        if doc == live.doc and managers == live.managers:
            return live
        if kind_of(live.kind).generation and _body(doc) != _body(live.doc):
            doc = {**doc, "metadata": {**doc["metadata"], "generation": live.meta.get("generation", 1) + 1}}
        if dry:
            return Stored(live.kind, doc, live.version, dict(managers))
        if live.terminating and live.meta.get("finalizers") and not doc["metadata"].get("finalizers"):
            return self.store.remove(live)
        return self.store.put(live.kind, doc, dict(managers))

    def _same(self, live: Stored, given: Doc) -> None:
        version = given.get("resourceVersion")
        if version and version != live.meta["resourceVersion"]:
            raise conflict(
                live.kind, live.key, "the object has been modified; apply your changes to the latest version"
            )
        if given.get("uid") and given["uid"] != live.uid:
            raise invalid(live.kind, live.key, "metadata.uid", "field is immutable")

    @staticmethod
    def _part(kind: str, body: Doc, subresource: str) -> Doc:
        """Return the part that a write may change: the status through its subresource, all other fields without it."""
        if not kind_of(kind).status:
            return body
        if subresource == "status":
            return {n: v for n, v in body.items() if n in {"status", "apiVersion", "kind"}}
        return {n: v for n, v in body.items() if n != "status"}

    def _fresh(self, prefix: str) -> str:
        if not prefix:
            return ""
        self._names += 1
        return f"{prefix}{self._names:05d}"


def _body(doc: Doc) -> Doc:
    return {n: v for n, v in doc.items() if n not in {"metadata", "status"}}


def _server_meta(live: Stored) -> Doc:
    return {n: live.meta[n] for n in _SERVER_OWNED if n in live.meta}


def _clean(body: Doc, live: Stored) -> Doc:
    """Return a body with the name of the live object and without what only the server sets."""
    given = part(body, "metadata")
    meta = {n: v for n, v in given.items() if n not in _SERVER_OWNED}
    return {**body, "metadata": meta | {n: live.meta[n] for n in ("name", "namespace") if n in live.meta}}
