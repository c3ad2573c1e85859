"""The objects of a store, with the rules by which a version replaces another.

Versions come from two sides, the watch and the answers to own writes, in any order. The rules make the result
independent of the order: newer wins, a deleted UID stays deleted, and an unreadable object is marked instead of
removed.
"""

from collections.abc import Mapping
from typing import Generic

import structlog

from stateward.kube.cache.deltas import Change, Delta, IndexFunction, Subscriber
from stateward.kube.cache.index import Index
from stateward.kube.cache.tombstones import Tombstones
from stateward.kube.objects.metadata import Identity, K, Key
from stateward.kube.objects.versions import is_older, reaches
from stateward.kube.objects.watching import Unreadable

_log = structlog.get_logger(__name__)


class Table(Generic[K]):
    """Objects by key, their indexes, and the subscribers."""

    def __init__(self, name: str, indexes: Mapping[str, IndexFunction[K]]) -> None:
        self.name = name
        self.objects: dict[Key, K] = {}
        self.unreadable: dict[Key, Unreadable] = {}
        self.indexes = {index: Index(function) for index, function in indexes.items()}
        self.subscribers: list[Subscriber[K]] = []
        self._tombstones = Tombstones()

    def take(self, key: Key, obj: K) -> None:
        """Store a version of an object, unless it is older than the known one."""
        uid, version = obj.metadata.uid, obj.metadata.resource_version
        if self._tombstones.covers(uid, version) or self._outdated(key, version):
            return
        old = self.objects.get(key)
        trouble = self.unreadable.pop(key, None)
        if old is not None and old.metadata.uid != uid:
            # Another object has the name now: subscribers see a deletion and a creation.
            self._tombstones.bury(old.metadata.uid, version)
            self._put(key, old, None)
            old = None
        if old is None or old.metadata.resource_version != version or trouble:
            self._put(key, old, obj)

    def bury(self, key: Key, uid: str, version: str = "") -> None:
        """Remove the object of this UID, which was gone in `version` (empty: permanently)."""
        self._tombstones.bury(uid, version)
        trouble = self.unreadable.get(key)
        if trouble is not None and trouble.metadata.uid in {uid, ""}:
            del self.unreadable[key]
        old = self.objects.get(key)
        if old is None or old.metadata.uid != uid:
            return
        if not version or is_older(version, old.metadata.resource_version) is not True:
            self._put(key, old, None)

    def saw_end(self, uid: str, version: str) -> bool:
        """Whether this version of an object is from before its deletion, which is known."""
        return self._tombstones.covers(uid, version)

    def forgotten(self, key: Key, shown: Identity, at: str) -> str:
        """Return a version up to `at` that the whole state at `at` should show or follow, and does not; else empty.

        It is the version of a change or of the end of this object, and what the state shows is older.
        """
        known = (self.objects.get(key), self.unreadable.get(key))
        versions = [obj.metadata.resource_version for obj in known if obj is not None]
        versions.append(self._tombstones.version(shown.uid))
        return next((each for each in versions if is_older(shown.resource_version, each) and reaches(at, each)), "")

    def holds(self, key: Key, uid: str) -> bool:
        """Whether the object of this UID exists, readable or not."""
        known = (self.objects.get(key), self.unreadable.get(key))
        return any(obj is not None and obj.metadata.uid == uid for obj in known)

    def mark(self, key: Key, trouble: Unreadable) -> None:
        """Record that the newest version of an object is unreadable; the last readable one stays."""
        if self._outdated(key, trouble.metadata.resource_version):
            return
        self.unreadable[key] = trouble
        last = self.objects.get(key)
        self._emit(Delta(Change.UNREADABLE, key, last, last, trouble))

    def tell(self, subscriber: Subscriber[K], delta: Delta[K]) -> None:
        """Call one subscriber; its failure is logged and stops neither the others nor the watch."""
        try:
            subscriber(delta)
        except Exception:  # noqa: BLE001 - whatever it is, the cache must go on
            _log.exception("a subscriber of the cache failed", store=self.name, key=str(delta.key))

    def _outdated(self, key: Key, version: str) -> bool:
        old = self.objects.get(key)
        trouble = self.unreadable.get(key)
        known = [obj.metadata.resource_version for obj in (old, trouble) if obj is not None]
        return any(is_older(version, than) for than in known)

    def _put(self, key: Key, old: K | None, new: K | None) -> None:
        if new is None:
            del self.objects[key]
        else:
            self.objects[key] = new
        for index in self.indexes.values():
            index.replace(key, old, new)
        change = Change.REMOVED if new is None else Change.ADDED if old is None else Change.CHANGED
        self._emit(Delta(change, key, old, new))

    def _emit(self, delta: Delta[K]) -> None:
        for subscriber in tuple(self.subscribers):
            self.tell(subscriber, delta)
