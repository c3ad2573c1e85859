"""Opened packages and rendered steps in memory: limited by their size, and each namespace loses its own first.

The disaster this prevents: the packages of one tenant fill the memory until the operator of all tenants is killed, or
take the place of those of all others, which are then opened and rendered again each time.
"""

import dataclasses
import sys
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

import msgspec

LARGEST = 64 << 20
"""Bytes of all that is kept in one place; the operator may take 2 GiB with all of its workers."""
T = TypeVar("T")


class Kept(Generic[T]):
    """Values by namespace and name.

    Without room, the namespace that takes most of it loses the value that it has not used for longest.
    """

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._values: dict[str, OrderedDict[Hashable, tuple[T, int]]] = {}
        self._sizes = Counter[str]()

    @property
    def size(self) -> int:
        """The bytes of all values with their names."""
        return self._sizes.total()

    def get(self, namespace: str, name: Hashable) -> T | None:
        """Return a value; None if it is not kept."""
        mine = self._values.get(namespace, OrderedDict())
        if name not in mine:
            return None
        mine.move_to_end(name)
        return mine[name][0]

    def keep(self, namespace: str, name: Hashable, value: T) -> None:
        """Keep a value, unless it is larger than all the room."""
        mine = self._values.setdefault(namespace, OrderedDict())
        self._sizes[namespace] -= mine.pop(name, (value, 0))[1]
        mine[name] = value, size_of(value) + size_of(name)
        self._sizes[namespace] += mine[name][1]
        while self.size > self._largest:
            self._evict(max(self._sizes, key=lambda each: self._sizes[each]))

    def _evict(self, namespace: str) -> None:
        mine = self._values[namespace]
        _, (_, size) = mine.popitem(last=False)
        self._sizes[namespace] -= size
        if not mine:
            del self._values[namespace], self._sizes[namespace]


def size_of(value: Any) -> int:
    """Return the bytes of a value and of all in it: what is read from a text may take a hundred times as much."""
    total, waiting = 0, [value]
    while waiting:
        each: Any = waiting.pop()
        total += sys.getsizeof(each)
        waiting += _inside(each)
    return total


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, str | bytes | int | float | None):
        return ()
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        return (*fields.keys(), *fields.values())
    if isinstance(value, list | tuple | frozenset):
        return cast("Iterable[Any]", value)
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.astuple(value)
    return [getattr(value, each.name) for each in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else ()
