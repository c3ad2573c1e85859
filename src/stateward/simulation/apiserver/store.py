"""The objects of the API server, and the log of their changes.

Documents are immutable: every write creates a new one that shares the unchanged parts. So old versions cost little
memory, each version is decoded once, and a watch can lag by any number of versions.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part

BASE = 1000
"""The first version of a world; there are no earlier ones."""


class Manager(NamedTuple):
    """An owner of fields: a name, and the subresource through which it wrote."""

    name: str
    subresource: str
    applies: bool


Path = tuple[Any, ...]
Fields = frozenset[Path]


class Stored:
    """One version of one object, with the fields that each manager owns and its typed views."""

    __slots__ = ("_views", "doc", "kind", "labels", "managers", "version")

    def __init__(self, kind: str, doc: Doc, version: int, managers: dict[Manager, Fields]) -> None:
        self.kind = kind
        self.doc = doc
        self.version = version
        self.managers = managers
        self.labels: dict[str, str] = part(doc, "metadata", "labels")
        self._views: dict[Any, Any] = {}

    @property
    def meta(self) -> Doc:
        """The object's metadata."""
        return self.doc["metadata"]

    @property
    def key(self) -> Key:
        """Its namespace and name."""
        meta = self.doc["metadata"]
        return Key(meta.get("namespace", ""), meta["name"])

    @property
    def uid(self) -> str:
        """The object's UID."""
        return self.doc["metadata"]["uid"]

    @property
    def terminating(self) -> bool:
        """Whether its deletion was requested."""
        return "deletionTimestamp" in self.doc["metadata"]

    def view(self, kind: Any) -> Any:
        """Return the object decoded into a type; raises msgspec.ValidationError where it does not fit."""
        if kind not in self._views:
            self._views[kind] = msgspec.convert(self.doc, kind)
        return self._views[kind]


class Event(NamedTuple):
    """One change: the object before and after it (None if it did not exist)."""

    version: int
    at: float
    old: Stored | None
    new: Stored | None


class Log:
    """The changes of one kind, from the oldest that is still kept."""

    def __init__(self, keep: int, base: int) -> None:
        self.events: list[Event] = []
        self.first = 0
        """How many older events were dropped."""
        self.compacted = base
        """The newest version that was dropped: a watch from before it is refused."""
        self._keep = keep

    def append(self, event: Event) -> None:
        """Add a change, and drop the oldest ones beyond the limit."""
        self.events.append(event)
        if len(self.events) > 2 * self._keep:
            self.compact(self._keep)

    def compact(self, keep: int) -> None:
        """Drop all but the newest `keep` changes."""
        drop = max(0, len(self.events) - keep)
        if drop:
            self.compacted = self.events[drop - 1].version
            self.first += drop
            del self.events[:drop]


Subscriber = Callable[[str, Event], None]


class Store:
    """All objects by kind and key; `now` gives virtual and wall time."""

    def __init__(self, monotonic: Callable[[], float], wall: Callable[[], datetime], keep: int = 600) -> None:
        self.version = BASE
        self._base = BASE
        self.monotonic = monotonic
        self.wall = wall
        self.subscribers: list[Subscriber] = []
        self._keep = keep
        self._objects: dict[str, dict[Key, Stored]] = {}
        self._logs: dict[str, Log] = {}
        self._by_uid: dict[str, tuple[str, Key]] = {}
        self._owned: dict[str, dict[tuple[str, Key], None]] = {}
        self._uids = 0

    def get(self, kind: str, key: Key) -> Stored | None:
        """Return the newest version of an object."""
        return self._objects.get(kind, {}).get(key)

    def all(self, kind: str) -> list[Stored]:
        """Return all objects of a kind, in the order of their creation."""
        return list(self._objects.get(kind, {}).values())

    def everything(self) -> Iterator[Stored]:
        """Yield all objects of all kinds."""
        for objects in self._objects.values():
            yield from objects.values()

    def by_uid(self, uid: str) -> Stored | None:
        """Return the object of a UID."""
        place = self._by_uid.get(uid)
        return self.get(*place) if place is not None else None

    def owned_by(self, uid: str) -> list[Stored]:
        """Return the objects that name an owner of this UID."""
        found = [self.get(kind, key) for kind, key in self._owned.get(uid, ())]
        return [stored for stored in found if stored is not None]

    def log(self, kind: str) -> Log:
        """Return the log of a kind."""
        if kind not in self._logs:
            self._logs[kind] = Log(self._keep, self._base)
        return self._logs[kind]

    def new_uid(self) -> str:
        """Return a UID that no object has had: as random as a real one from its first character, and repeatable."""
        self._uids += 1
        drawn = blake2b(self._uids.to_bytes(8, "big"), digest_size=16).digest()
        return str(UUID(bytes=drawn, version=4))

    def timestamp(self) -> str:
        """Return the wall time as the server writes it."""
        return self.wall().strftime("%Y-%m-%dT%H:%M:%SZ")

    def put(self, kind: str, doc: Doc, managers: dict[Manager, Fields]) -> Stored:
        """Store a new version of an object, set its resourceVersion, and notify the subscribers."""
        self.version += 1
        meta = {**doc["metadata"], "resourceVersion": str(self.version)}
        stored = Stored(kind, {**doc, "metadata": meta}, self.version, managers)
        objects = self._objects.setdefault(kind, {})
        old = objects.get(stored.key)
        objects[stored.key] = stored
        if old is None or old.doc["metadata"].get("ownerReferences") != meta.get("ownerReferences"):
            self._index(old, stored)
        self._publish(kind, old, stored)
        return stored

    def remove(self, old: Stored) -> Stored:
        """Remove an object; the version of its removal is that of its last state."""
        self.version += 1
        del self._objects[old.kind][old.key]
        self._index(old, None)
        meta = {**old.doc["metadata"], "resourceVersion": str(self.version)}
        last = Stored(old.kind, {**old.doc, "metadata": meta}, self.version, old.managers)
        self._publish(old.kind, last, None)
        return last

    def state_at(self, kind: str, version: int) -> list[Stored]:
        """Return the objects of a kind as they were at a version that the log still reaches."""
        objects = dict(self._objects.get(kind, {}))
        for event in reversed(self.log(kind).events):
            if event.version <= version:
                break
            changed = event.new or event.old
            if changed is None:
                continue
            objects.pop(changed.key, None)
            if event.old is not None:
                objects[event.old.key] = event.old
        return list(objects.values())

    def past(self, kind: str, key: Key, at: float) -> Stored | None:
        """Return an object as it was at a time, as far back as the log goes."""
        found = self.get(kind, key)
        for event in reversed(self.log(kind).events):
            if event.at <= at:
                break
            changed = event.new or event.old
            if changed is not None and changed.key == key:
                found = event.old
        return found

    def _index(self, old: Stored | None, new: Stored | None) -> None:
        if old is not None:
            self._by_uid.pop(old.uid, None)
            for owner in items(old.doc, "metadata", "ownerReferences"):
                self._owned[owner["uid"]].pop((old.kind, old.key), None)
        if new is not None:
            self._by_uid[new.uid] = (new.kind, new.key)
            for owner in items(new.doc, "metadata", "ownerReferences"):
                self._owned.setdefault(owner["uid"], {})[new.kind, new.key] = None

    def _publish(self, kind: str, old: Stored | None, new: Stored | None) -> None:
        event = Event(self.version, self.monotonic(), old, new)
        self.log(kind).append(event)
        for subscriber in self.subscribers:
            subscriber(kind, event)
