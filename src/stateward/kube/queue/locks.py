"""Locks by name, for what only one task at a time may do."""

import asyncio
from collections.abc import Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

N = TypeVar("N", bound=Hashable)


class Locks(Generic[N]):
    """One lock for each name. One that no task holds or waits for is forgotten: users choose the names."""

    def __init__(self) -> None:
        self._used: WeakValueDictionary[N, asyncio.Lock] = WeakValueDictionary()

    def __getitem__(self, name: N) -> asyncio.Lock:
        """Return the lock of a name."""
        return self._used.setdefault(name, asyncio.Lock())

    def __len__(self) -> int:
        """Return how many are in use."""
        return len(self._used)
