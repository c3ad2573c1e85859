"""An index of cached objects by computed values, updated with the objects."""

from typing import Generic

from stateward.kube.cache.deltas import IndexFunction
from stateward.kube.objects.metadata import K, Key


class Index(Generic[K]):
    """Keys of objects by each value that `function` returns for them."""

    def __init__(self, function: IndexFunction[K]) -> None:
        self._function = function
        # Dictionaries instead of sets: their order is that of insertion, so a run can be repeated exactly.
        self._keys: dict[str, dict[Key, None]] = {}

    def replace(self, key: Key, old: K | None, new: K | None) -> None:
        """Move a key from the index values of its old version to those of its new one."""
        before = frozenset(self._function(old)) if old is not None else frozenset[str]()
        after = frozenset(self._function(new)) if new is not None else frozenset[str]()
        for value in before - after:
            keys = self._keys[value]
            del keys[key]
            if not keys:
                del self._keys[value]
        for value in after - before:
            self._keys.setdefault(value, {})[key] = None

    def keys(self, value: str) -> tuple[Key, ...]:
        """Return the keys with an index value, in insertion order."""
        return tuple(self._keys.get(value, ()))

    def values(self) -> tuple[str, ...]:
        """Return all values that have keys."""
        return tuple(self._keys)
