"""The cache of one kind: what the watch has said, what our own writes have returned, and nothing older than either.

Objects are keyed by namespace and name. One store may be fed by several reflectors, one per namespace, each through a
`Feed`; it is synced when all of them have delivered their state.
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
    """A shared cache with indexes and subscribers; `namespaces` lists what it is fed with, by default everything.

    Objects in it are projections: unknown fields are lost, so they are never written back.
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
        """Return the newest known version of an object, None when it is not there."""
        return self._table.objects.get(key)

    def all(self) -> tuple[K, ...]:
        """Return all objects."""
        return tuple(self._table.objects.values())

    def keys(self) -> tuple[Key, ...]:
        """Return the keys of all objects."""
        return tuple(self._table.objects)

    def indexed(self, index: str, value: str) -> tuple[K, ...]:
        """Return the objects found under a value of an index; raises KeyError when there is no such index."""
        return tuple(self._table.objects[key] for key in self._table.indexes[index].keys(value))

    @property
    def unreadable(self) -> Mapping[Key, Unreadable]:
        """Objects whose newest version could not be read: what the cache holds of them, if anything, is old.

        An object whose name could not be read either is under an empty name.
        """
        return self._table.unreadable

    @property
    def has_synced(self) -> bool:
        """Whether every source has delivered its whole state at least once."""
        return self._sources.synced

    async def wait_synced(self) -> None:
        """Wait until every source has delivered its whole state."""
        await self._synced.wait()

    def version(self, namespace: str = "") -> str:
        """Return the resourceVersion up to which the watch of this namespace has been heard; empty at first."""
        return self._sources.of(namespace).version

    def lags(self, key: Key, uid: str) -> bool:
        """Whether we wrote or deleted this object and the watch has not told of it yet.

        As long as it has not, *everything else* in the cache may be from before our write.
        """
        return self._sources.covers(key.namespace) and self._sources.of(key.namespace).lags(uid)

    def wrote(self, obj: K) -> None:
        """Take in what the server returned for our own write, unless something newer is known already.

        Only for objects that the watch selects: others would wait for an event that never comes.
        """
        key, meta = key_of(obj), obj.metadata
        if not self._sources.covers(key.namespace):
            return
        source = self._sources.of(key.namespace)
        if reaches(source.version, meta.resource_version):
            # The watch is past it: the object is in the cache, newer or as new, or it has been deleted since.
            return
        known = self.get(key)
        # Where versions cannot be compared, the same one again is a write that changed nothing.
        if known is None or (known.metadata.uid, known.metadata.resource_version) != (meta.uid, meta.resource_version):
            source.expect(meta.uid, meta.resource_version)
        self._table.take(key, obj)

    def deleted(self, obj: K) -> None:
        """Take in that our own delete has removed this object for good; `obj` is the last version that we knew."""
        key, meta = key_of(obj), obj.metadata
        if not self._sources.covers(key.namespace):
            return
        source = self._sources.of(key.namespace)
        # A watch that is past this version and does not have the object has told of its end already, or never will.
        if self._table.holds(key, meta.uid) or is_older(source.version, meta.resource_version):
            source.expect_end(meta.uid)
        self._table.bury(key, meta.uid)

    def subscribe(self, subscriber: Subscriber[K]) -> None:
        """Call `subscriber` for every delta from now on, after telling it of every object that is there already."""
        self._table.subscribers.append(subscriber)
        for key, obj in tuple(self._table.objects.items()):
            self._table.tell(subscriber, Delta(Change.ADDED, key, None, obj))

    def unsubscribe(self, subscriber: Subscriber[K]) -> None:
        """Stop calling `subscriber`; raises ValueError when it was not subscribed."""
        self._table.subscribers.remove(subscriber)

    def feed(self, namespace: str = "") -> Feed[K]:
        """Return the way in for the reflector of a namespace; raises KeyError when it is none of the store's."""
        return Feed(self._table, self._sources.of(namespace), self._on_sync)

    def _on_sync(self) -> None:
        if self._sources.synced:
            self._synced.set()
