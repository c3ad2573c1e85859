"""A queue of keys in which a key is never processed by two workers at once.

A key is *ready* (needs work), *processing* (a worker has it), both (needs work *again*), or *delayed* (needs work
later). Adding a ready key again changes nothing, so a burst of events is one piece of work. A key that is added while
it is processed is ready again afterwards, at the end of the queue. A failed key comes back after its own delay, which
grows with its failures; it never delays another key.

Of several ready keys, one of the namespace with the fewest keys in work comes first, then one of the namespace whose
last turn was the earliest, and then the one that is ready for the longest time.

The disaster this prevents: a tenant declares 200 objects in a database that answers each request after 15 s. They take
every worker again and again, and an object of another tenant waits for a quarter of an hour.
"""

import asyncio
import heapq
import itertools
import random
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Hashable
from typing import Generic, TypeVar

from stateward.kube.timing.backoff import Backoff
from stateward.kube.timing.clock import Clock, SystemClock
from stateward.kube.timing.observers import QueueObserver, Unobserved

H = TypeVar("H", bound=Hashable)


class QueueClosed(Exception):  # noqa: N818 - an orderly end, not an error
    """The queue is closed: there are no more keys."""


class WorkQueue(Generic[H]):
    """Keys to work on, in the order in which they became ready; namespaces take turns."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        backoff: Backoff | None = None,
        observer: QueueObserver | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._backoff = backoff or Backoff(first=0.2, longest=120.0)
        self._observer = observer or Unobserved()
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, hides nothing
        self._ready: dict[H, float] = {}
        self._waiting: defaultdict[str, OrderedDict[H, int]] = defaultdict(OrderedDict)
        """The ready keys of each namespace, with their place in the order of all."""
        self._busy = Counter[str]()
        """Keys in work, by namespace."""
        self._turns: dict[str, int] = {}
        """When each namespace had its last turn, in the order of all, since nothing was ready."""
        self._processing: set[H] = set()
        self._again: set[H] = set()
        self._due: dict[H, float] = {}
        self._heap: list[tuple[float, int, H]] = []
        self._order = itertools.count()
        self._failures: dict[H, int] = {}
        self._wakeup = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    def __len__(self) -> int:
        """Return how many keys are ready."""
        return len(self._ready)

    @property
    def processing(self) -> frozenset[H]:
        """The keys that workers process now."""
        return frozenset(self._processing)

    @property
    def delayed(self) -> int:
        """The number of delayed keys."""
        return len(self._due)

    def add(self, key: H) -> None:
        """Add a key for work as soon as possible; this replaces a delayed add."""
        if self._closed:
            return
        self._due.pop(key, None)
        if key in self._processing:
            self._again.add(key)
        elif key not in self._ready:
            self._ready[key] = self._clock.monotonic()
            self._waiting[namespace_of(key)][key] = next(self._order)
        self._wakeup.set()
        self._report()

    def add_after(self, key: H, seconds: float) -> None:
        """Add a key for work in `seconds`; the earliest of several adds applies."""
        if seconds <= 0:
            self.add(key)
            return
        at = self._clock.monotonic() + seconds
        if self._closed or key in self._ready or key in self._again or self._due.get(key, at + 1) <= at:
            return
        self._due[key] = at
        heapq.heappush(self._heap, (at, next(self._order), key))
        self._compact()
        self._wakeup.set()
        self._report()

    def add_failed(self, key: H) -> float:
        """Add a key after a delay that grows with its consecutive failures; return that delay in seconds."""
        self._failures[key] = self._failures.get(key, 0) + 1
        delay = self._backoff.delay(self._failures[key], self._rng)
        self.add_after(key, delay)
        return delay

    def forget(self, key: H) -> None:
        """Reset a key's failures, after a success or when it is gone."""
        self._failures.pop(key, None)

    def failures(self, key: H) -> int:
        """Return the number of consecutive failures of a key."""
        return self._failures.get(key, 0)

    async def get(self) -> H:
        """Return the next key, waiting if necessary; raise QueueClosed. Always call `done` with it afterwards."""
        while True:
            self._promote()
            if self._closed:
                raise QueueClosed
            if self._ready:
                return self._take()
            await self._wait()

    def done(self, key: H) -> None:
        """Mark a key as processed; if it was added meanwhile, it is ready again."""
        if key in self._processing:
            self._processing.discard(key)
            namespace = namespace_of(key)
            self._busy[namespace] -= 1
            if not self._busy[namespace]:
                del self._busy[namespace]
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        if not self._processing:
            self._idle.set()

    def close(self) -> None:
        """Stop the queue: drop waiting keys; keys in processing may be finished."""
        self._closed = True
        self._ready.clear()
        self._waiting.clear()
        self._due.clear()
        self._heap.clear()
        self._again.clear()
        self._wakeup.set()
        self._report()

    async def wait_idle(self) -> None:
        """Wait until no key is being processed: after `close`, until all work is finished."""
        await self._idle.wait()

    def _take(self) -> H:
        namespace = min(self._waiting, key=self._place)
        key, _ = self._waiting[namespace].popitem(last=False)
        if not self._waiting[namespace]:
            del self._waiting[namespace]
        self._turns[namespace] = next(self._order)
        if not self._waiting:
            self._turns.clear()
        since = self._ready.pop(key)
        self._processing.add(key)
        self._busy[namespace] += 1
        self._idle.clear()
        self._observer.started(self._clock.monotonic() - since)
        self._report()
        return key

    def _place(self, namespace: str) -> tuple[int, int, int]:
        """Return by what a namespace with ready keys has its turn.

        The keys in work, its last turn (a single worker would else do all that is ready in one first), and the place of
        its first key.
        """
        first = next(iter(self._waiting[namespace].values()))
        return self._busy[namespace], self._turns.get(namespace, -1), first

    async def _wait(self) -> None:
        self._wakeup.clear()
        seconds = max(0.0, self._heap[0][0] - self._clock.monotonic()) if self._heap else None
        try:
            async with self._clock.timeout(seconds):
                await self._wakeup.wait()
        except TimeoutError:
            pass  # The earliest delayed key is due.

    def _promote(self) -> None:
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            at, _, key = heapq.heappop(self._heap)
            # A superseded add is still in the heap, but is no longer the due time of its key.
            if self._due.get(key) == at:
                self.add(key)

    def _compact(self) -> None:
        # Superseded entries leave the heap only at their time, which may be late, so limit their number.
        if len(self._heap) > 64 + 2 * len(self._due):
            self._heap = [(at, next(self._order), key) for key, at in self._due.items()]
            heapq.heapify(self._heap)

    def _report(self) -> None:
        self._observer.depth(len(self._ready), len(self._due))


def namespace_of(key: object) -> str:
    """Return the namespace of a key; empty for one that has none."""
    return str(getattr(key, "namespace", ""))
