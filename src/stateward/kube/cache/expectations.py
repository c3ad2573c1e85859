"""Checks that the caches contain the operator's own writes.

Without this, the operator could lose quorum. It deletes a manager's pod and plans again a moment later. The answer to
the delete is in the cache, but the rest may be older: for example, a second manager has crashed in between. In such a
cache all managers but the one just deleted are up, so the plan would take down another one, and quorum is lost
(opensearch-k8s-operator#1471). Therefore a destructive plan is executed only if every cache it was made from has seen,
on its watch, every write of the operator.

Non-destructive work does not need this: applying the same object twice changes nothing. After a restart of the process
there are no expectations, and none are needed: the caches start from the server's newest state.
"""

from dataclasses import dataclass
from typing import Any, Generic

from stateward.kube.cache.store import Store
from stateward.kube.objects.metadata import K, Key, key_of
from stateward.kube.timing.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class Unmet:
    """One own write that a cache has not seen; `age` is in seconds."""

    store: str
    key: Key
    age: float

    def __str__(self) -> str:
        return f"the cache of {self.store} has not seen our write to {self.key} of {self.age:.1f} s ago"


@dataclass(frozen=True, slots=True)
class _Write(Generic[K]):
    store: Store[K]
    key: Key
    uid: str
    at: float


class Expectations:
    """The writes for one cluster that its caches must contain before any destructive action."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        # By store and UID: a later write to the same object replaces an earlier one.
        self._writes: dict[tuple[str, str], _Write[Any]] = {}

    def wrote(self, store: Store[K], obj: K) -> None:
        """Put the server's answer to a write into the cache, and expect the write on the watch."""
        store.wrote(obj)
        self._expect(store, key_of(obj), obj.metadata.uid)

    def deleted(self, store: Store[K], obj: K) -> None:
        """Remove a permanently deleted object from the cache, and expect the deletion on the watch."""
        store.deleted(obj)
        self._expect(store, key_of(obj), obj.metadata.uid)

    def unmet(self) -> tuple[Unmet, ...]:
        """Return the writes that the caches have not seen, oldest first; empty if the caches are up to date."""
        now = self._clock.monotonic()
        self._writes = {name: write for name, write in self._writes.items() if write.store.lags(write.key, write.uid)}
        return tuple(Unmet(write.store.name, write.key, now - write.at) for write in self._writes.values())

    @property
    def caught_up(self) -> bool:
        """Whether every cache has seen every write."""
        return not self.unmet()

    def _expect(self, store: Store[Any], key: Key, uid: str) -> None:
        self._writes.pop((store.name, uid), None)
        self._writes[store.name, uid] = _Write(store, key, uid, self._clock.monotonic())
