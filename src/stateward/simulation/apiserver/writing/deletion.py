"""Deletion: preconditions, grace periods, finalizers, and garbage collection of owned objects."""

from collections.abc import Callable
from datetime import timedelta

from stateward.kube.client.client import DeleteOptions, Preconditions, Propagation
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.kinds import kind_of
from stateward.simulation.apiserver.refusals import conflict
from stateward.simulation.apiserver.store import Event, Store, Stored

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
GRACE = 30
"""The default grace period of a pod, in seconds."""


def check(stored: Stored, options: DeleteOptions) -> None:
    """Raise Conflict if the preconditions of a deletion do not hold."""
    wanted = options.preconditions
    if wanted.uid and wanted.uid != stored.uid:
        raise conflict(
            stored.kind, stored.key, f"the UID in the precondition: {wanted.uid}, of the object: {stored.uid}"
        )
    if wanted.resource_version and wanted.resource_version != stored.meta["resourceVersion"]:
        raise conflict(stored.kind, stored.key, "the resourceVersion in the precondition is not that of the object")


def delete(store: Store, stored: Stored, options: DeleteOptions) -> Stored | None:
    """Delete an object, or mark it as terminating; return it while it terminates."""
    finalizers = items(stored.doc, "metadata", "finalizers")[:]
    extra = {Propagation.FOREGROUND: FOREGROUND, Propagation.ORPHAN: ORPHAN}.get(options.propagation)
    if extra is not None and extra not in finalizers and any_dependents(store, stored):
        finalizers.append(extra)
    grace = grace_of(stored, options)
    if not finalizers and grace == 0:
        store.remove(stored)
        return None
    if (
        stored.terminating
        and stored.meta.get("deletionGracePeriodSeconds", 0) <= grace
        and len(finalizers) == len(items(stored.doc, "metadata", "finalizers"))
    ):
        return stored
    when = store.wall() + timedelta(seconds=grace)
    meta = {
        **stored.meta,
        "deletionTimestamp": stored.meta.get("deletionTimestamp") or when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "deletionGracePeriodSeconds": grace,
    }
    if finalizers:
        meta["finalizers"] = finalizers
    if kind_of(stored.kind).generation and not stored.terminating:
        meta["generation"] = stored.meta.get("generation", 1) + 1
    return store.put(stored.kind, {**stored.doc, "metadata": meta}, stored.managers)


def grace_of(stored: Stored, options: DeleteOptions) -> int:
    """Return the grace period in seconds; only a pod on a node has one."""
    spec = part(stored.doc, "spec")
    if stored.kind != "/pods" or not spec.get("nodeName"):
        return 0
    if part(stored.doc, "status").get("phase") in {"Succeeded", "Failed"}:
        return 0
    wanted = options.grace_seconds
    return int(spec.get("terminationGracePeriodSeconds", GRACE)) if wanted is None else wanted


def owners(stored: Stored) -> list[Doc]:
    """Return the references of an object to its owners."""
    return items(stored.doc, "metadata", "ownerReferences")


def any_dependents(store: Store, owner: Stored) -> bool:
    """Return whether any object has this one as its owner."""
    return bool(store.owned_by(owner.uid))


class GarbageCollector:
    """Removes objects without owners; `later` runs a function after some seconds of virtual time."""

    def __init__(self, store: Store, later: Callable[[float, Callable[[], None]], None]) -> None:
        self._store = store
        self._later = later
        self.delay = 1.0
        store.subscribers.append(self._on_event)

    def _on_event(self, kind: str, event: Event) -> None:
        old, new = event.old, event.new
        if new is None and old is not None:
            if kind not in {"events.k8s.io/events", "coordination.k8s.io/leases"}:
                self._later(self.delay, lambda: self._collect(old.uid))
            for owner in owners(old):
                self._later(self.delay, lambda uid=owner["uid"]: self._unblock(uid))
        elif new is not None and new.terminating:
            self._terminating(new)
        elif new is not None and owners(new) and (old is None or owners(old) != owners(new)):
            self._later(self.delay, lambda: self._orphaned(new))

    def _terminating(self, stored: Stored) -> None:
        finalizers = items(stored.doc, "metadata", "finalizers")
        if FOREGROUND in finalizers or ORPHAN in finalizers:
            self._later(self.delay, lambda: self._unblock(stored.uid))

    def _collect(self, uid: str) -> None:
        for dependent in self._store.owned_by(uid):
            self._orphaned(dependent)

    def _orphaned(self, stored: Stored) -> None:
        live = self._store.get(stored.kind, stored.key)
        if live is None or live.uid != stored.uid or live.terminating:
            return
        found = owners(live)
        if found and all(self._store.by_uid(owner["uid"]) is None for owner in found):
            delete(self._store, live, background(live))

    def _unblock(self, uid: str) -> None:
        owner = self._store.by_uid(uid)
        if owner is None or not owner.terminating:
            return
        finalizers = items(owner.doc, "metadata", "finalizers")
        found = self._store.owned_by(uid)
        if ORPHAN in finalizers:
            for dependent in found:
                rest = [o for o in dependent.meta["ownerReferences"] if o["uid"] != uid]
                meta = {**dependent.meta, "ownerReferences": rest}
                self._store.put(dependent.kind, {**dependent.doc, "metadata": meta}, dependent.managers)
            finalize(self._store, owner, ORPHAN)
        elif FOREGROUND in finalizers:
            for dependent in found:
                if not dependent.terminating:
                    delete(self._store, dependent, background(dependent, Propagation.FOREGROUND))
            if not found:
                finalize(self._store, owner, FOREGROUND)


def background(stored: Stored, propagation: Propagation = Propagation.BACKGROUND) -> DeleteOptions:
    """Return options that delete exactly this object."""
    return DeleteOptions(Preconditions(stored.uid), propagation)


def finalize(store: Store, stored: Stored, finalizer: str) -> None:
    """Remove a finalizer; if it was the last one of a terminating object, the object is deleted."""
    rest = [f for f in items(stored.doc, "metadata", "finalizers") if f != finalizer]
    if stored.terminating and not rest:
        store.remove(stored)
        return
    meta = {**stored.meta, "finalizers": rest}
    store.put(stored.kind, {**stored.doc, "metadata": meta}, stored.managers)
