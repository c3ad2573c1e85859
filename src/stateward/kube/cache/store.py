"""The cache of one kind: the newest version of each object, from the watch or from the operator's own writes.

Objects are keyed by namespace and name. Several reflectors may feed one store, one per namespace, each through a
`Feed`; the store is synced when all of them have delivered their state.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Generic

from stateward.kube.cache.deltas import Change, Delta, IndexFunction, Subscriber
from stateward.kube.cache.feed import Feed
from stateward.kube.cache.sources import Sources
from stateward.kube.cache.table import Table
from stateward.kube.objects.metadata import K, Key, key_of
from stateward.kube.objects.versions import is_older, reaches
from stateward.kube.objects.watching import Unreadable


class Store(Generic[K]):
    """A shared cache with indexes and subscribers; `namespaces` lists its feeds, by default everything.

    Its objects are projections: unknown fields are lost, so they are never written back.
    """

    def __init__(
        self, name: str, *, namespaces: Iterable[str] = ("",), indexes: Mapping[str, IndexFunction[K]] | None = None
    ) -> None:
        self.name = name
        self._table = Table[K](name, indexes or {})
        self._sources = Sources(namespaces)
        self._synced = asyncio.Event()

    def __len__(self) -> int:
        return len(self._table.objects)

    def get(self, key: Key) -> K | None:
        """Return the newest known version of an object; None if it does not exist."""
        return self._table.objects.get(key)

    def all(self) -> tuple[K, ...]:
        """Return all objects."""
        return tuple(self._table.objects.values())

    def keys(self) -> tuple[Key, ...]:
        """Return the keys of all objects."""
        return tuple(self._table.objects)

    def indexed(self, index: str, value: str) -> tuple[K, ...]:
        """Return the objects with an index value; raise KeyError if there is no such index."""
        return tuple(self._table.objects[key] for key in self._table.indexes[index].keys(value))

    @property
    def unreadable(self) -> Mapping[Key, Unreadable]:
        """Objects with an unreadable newest version: a cached version, if any, is old.

        If the name is unreadable too, the object is under an empty name.
        """
        return self._table.unreadable

    @property
    def has_synced(self) -> bool:
        """Whether every source has delivered its whole state at least once."""
        return self._sources.synced

    @property
    def unfilled(self) -> tuple[str, ...]:
        """The namespaces whose state is not known yet; an empty name stands for all of them."""
        return self._sources.unfilled

    async def wait_synced(self) -> None:
        """Wait until every source has delivered its whole state."""
        await self._synced.wait()

    def version(self, namespace: str = "") -> str:
        """Return the resourceVersion that the watch of this namespace has reached; empty at first."""
        return self._sources.of(namespace).version

    def lags(self, key: Key, uid: str) -> bool:
        """Whether the watch has not yet shown an own write or deletion of this object.

        Until then, *everything else* in the cache may be from before the write.
        """
        return self._sources.covers(key.namespace) and self._sources.of(key.namespace).lags(uid)

    def wrote(self, obj: K) -> None:
        """Store the server's answer to an own write, unless something newer is known.

        Use it only for objects that the watch selects: for others the expected event never comes.
        """
        key, meta = key_of(obj), obj.metadata
        if not self._sources.covers(key.namespace):
            return
        source = self._sources.of(key.namespace)
        if reaches(source.version, meta.resource_version) or self._table.saw_end(meta.uid, meta.resource_version):
            # The watch is past this version: the object is in the cache, as new or newer, or has been deleted since.
            return
        known = self.get(key)
        # If versions cannot be compared, the same version again is a write without a change.
        if known is None or (known.metadata.uid, known.metadata.resource_version) != (meta.uid, meta.resource_version):
            source.expect(meta.uid, meta.resource_version)
        self._table.take(key, obj)

    def deleted(self, obj: K) -> None:
        """Record that an own delete has removed this object permanently; `obj` is the last known version."""
        key, meta = key_of(obj), obj.metadata
        if not self._sources.covers(key.namespace):
            return
        source = self._sources.of(key.namespace)
        # A watch past this version without the object has already shown the deletion, or never will.
        if self._table.holds(key, meta.uid) or is_older(source.version, meta.resource_version):
            source.expect_end(meta.uid)
        self._table.bury(key, meta.uid)

    def subscribe(self, subscriber: Subscriber[K]) -> None:
        """Call `subscriber` for every delta from now on, after an ADDED delta for each existing object."""
        self._table.subscribers.append(subscriber)
        for key, obj in tuple(self._table.objects.items()):
            self._table.tell(subscriber, Delta(Change.ADDED, key, None, obj))

    def unsubscribe(self, subscriber: Subscriber[K]) -> None:
        """Stop calling `subscriber`; raise ValueError if it is not subscribed."""
        self._table.subscribers.remove(subscriber)

    def feed(self, namespace: str = "") -> Feed[K]:
        """Return the feed for the reflector of a namespace; raise KeyError if the store does not have it."""
        return Feed(self._table, self._sources.of(namespace), self._on_sync)

    def _on_sync(self) -> None:
        if self._sources.synced:
            self._synced.set()
