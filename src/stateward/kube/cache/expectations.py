"""Whether the caches have caught up with what we ourselves did.

The disaster that this prevents: the operator deletes a manager's pod and, a moment later, plans again. The answer to
the delete is in the cache, but everything around it may be from before: the crash of a second manager, for example,
that happened in between. Seen through such a cache, three of three managers are up but for the one that we just took
down, so a second may go, and quorum is lost (opensearch-k8s-operator#1471). Therefore a plan that destroys something is
acted on only when every cache it was made from has heard, on its watch, of every write of ours.

It is not needed for work that destroys nothing: applying the same thing twice changes nothing. After a restart of the
process there are no expectations, and none are needed: the caches are then filled from the server's newest state.
"""

from dataclasses import dataclass
from typing import Any, Generic

from stateward.kube.cache.store import Store
from stateward.kube.objects.metadata import K, Key, key_of
from stateward.kube.timing.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class Unmet:
    """One write of ours that a cache has not heard of; `age` is in seconds."""

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
    """The writes made for one cluster that its caches have to show before anything is destroyed."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        # By store and UID: a later write to the same object takes the place of an earlier one.
        self._writes: dict[tuple[str, str], _Write[Any]] = {}

    def wrote(self, store: Store[K], obj: K) -> None:
        """Put the server's answer to a write into the cache, and expect its watch to tell of it."""
        store.wrote(obj)
        self._expect(store, key_of(obj), obj.metadata.uid)

    def deleted(self, store: Store[K], obj: K) -> None:
        """Take an object that is gone for good out of the cache, and expect its watch to tell of it."""
        store.deleted(obj)
        self._expect(store, key_of(obj), obj.metadata.uid)

    def unmet(self) -> tuple[Unmet, ...]:
        """Return what the caches have not heard of yet, oldest first; empty when they have caught up."""
        now = self._clock.monotonic()
        self._writes = {name: write for name, write in self._writes.items() if write.store.lags(write.key, write.uid)}
        return tuple(Unmet(write.store.name, write.key, now - write.at) for write in self._writes.values())

    @property
    def caught_up(self) -> bool:
        """Whether every cache has heard of every write."""
        return not self.unmet()

    def _expect(self, store: Store[Any], key: Key, uid: str) -> None:
        self._writes.pop((store.name, uid), None)
        self._writes[store.name, uid] = _Write(store, key, uid, self._clock.monotonic())
