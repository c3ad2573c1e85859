"""The input of a store from the watch of one namespace."""

from collections.abc import Callable, Iterable
from typing import Generic

from stateward.kube.cache.sources import Source
from stateward.kube.cache.table import Table
from stateward.kube.objects.metadata import K, Key, key_of
from stateward.kube.objects.versions import is_older
from stateward.kube.objects.watching import Unreadable


class Feed(Generic[K]):
    """The interface of a reflector to a store; created by `Store.feed`."""

    def __init__(self, table: Table[K], source: Source, on_sync: Callable[[], None]) -> None:
        self._table = table
        self._source = source
        self._on_sync = on_sync

    @property
    def version(self) -> str:
        """The version from which a watch continues; empty if a list is needed first."""
        return self._source.version

    @property
    def unreadable(self) -> int:
        """The number of objects of this watch that cannot be read now."""
        return sum(map(self._mine, self._table.unreadable))

    def heard(self, obj: K) -> None:
        """Process a version of an object from the watch."""
        self._source.hear(obj.metadata.uid, obj.metadata.resource_version)
        self._table.take(key_of(obj), obj)

    def heard_end(self, obj: K) -> None:
        """Process that an object was deleted, or no longer matches the selector."""
        self._source.hear_end(obj.metadata.uid, obj.metadata.resource_version)
        self._table.bury(key_of(obj), obj.metadata.uid, obj.metadata.resource_version)

    def heard_trouble(self, trouble: Unreadable) -> None:
        """Process an event with an unreadable object; for a deletion the UID is enough."""
        meta = trouble.metadata
        if trouble.deleted and meta.uid:
            self._source.hear_end(meta.uid, meta.resource_version)
            self._table.bury(key_of(trouble), meta.uid, meta.resource_version)
        else:
            self._source.progress(meta.resource_version)
            self._table.mark(self._key(trouble), trouble)

    def progressed(self, version: str) -> None:
        """Process that everything up to `version` has been sent."""
        self._source.progress(version)

    def forgotten(self, objects: Iterable[K], version: str, troubles: Iterable[Unreadable] = ()) -> Key | None:
        """Return an object that the whole state at `version` shows as it was before a change that this watch has shown.

        A server that goes on does not forget; one that was restored from a backup does, also if its versions continue
        far above those of before (`etcdutl snapshot restore --bump-revision`).
        """
        shown = [(key_of(obj), obj.metadata) for obj in (*objects, *troubles)]
        return next((key for key, meta in shown if self._table.forgotten(key, meta, version)), None)

    def replace(self, objects: Iterable[K], version: str, troubles: Iterable[Unreadable] = ()) -> None:
        """Process the whole state at `version`; missing objects were deleted while no watch was active."""
        present: dict[Key, str] = {}
        for obj in objects:
            present[key_of(obj)] = obj.metadata.uid
            self._table.take(key_of(obj), obj)
        for trouble in troubles:
            present[self._key(trouble)] = trouble.metadata.uid
            self._table.mark(self._key(trouble), trouble)
        self._bury_missing(present, version)
        self._source.restart(version, present.values())
        self._on_sync()

    def _bury_missing(self, present: dict[Key, str], version: str) -> None:
        for key in [key for key in self._table.unreadable if self._mine(key) and key not in present]:
            del self._table.unreadable[key]
        missing = [key for key in self._table.objects if self._mine(key) and key not in present]
        for key in missing:
            meta = self._table.objects[key].metadata
            # An own object created after the list is not missing: it is newer than the list.
            if is_older(version, meta.resource_version) is not True:
                self._table.bury(key, meta.uid, version)

    def _key(self, trouble: Unreadable) -> Key:
        # Without a name it could be any object of this watch; it is stored under an empty name, not ignored.
        return key_of(trouble) if trouble.metadata.name else Key(self._source.namespace, "")

    def _mine(self, key: Key) -> bool:
        return self._source.namespace in {"", key.namespace}
