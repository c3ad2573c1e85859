"""A queue of keys to work on, in which a key is never in two hands at once.

A key is *ready* (wants work), *processing* (a worker has it), both of these (wants work *again*), or *delayed* (wants
work later). Adding a ready key again changes nothing, so a burst of events is one piece of work; adding one that is
being processed makes it come round again afterwards, at the end of the line. A key that fails comes back after a delay
of its own that grows with its failures; it never holds up another.
"""

import asyncio
import heapq
import itertools
import random
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from stateward.kube.timing.backoff import Backoff
from stateward.kube.timing.clock import Clock, SystemClock
from stateward.kube.timing.observers import QueueObserver, Unobserved

H = TypeVar("H", bound=Hashable)


class QueueClosed(Exception):  # noqa: N818 - an orderly end, not an error
    """The queue is shut down: there is nothing more to take."""


class WorkQueue(Generic[H]):
    """Keys to work on, in the order in which they became ready."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        backoff: Backoff | None = None,
        observer: QueueObserver | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._backoff = backoff or Backoff(first=0.2, longest=120.0)
        self._observer = observer or Unobserved()
        self._chance = chance or random.Random()  # noqa: S311 - spreads load, hides nothing
        self._ready: OrderedDict[H, float] = OrderedDict()
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
        """The keys that workers have now."""
        return frozenset(self._processing)

    @property
    def delayed(self) -> int:
        """How many keys wait for their time."""
        return len(self._due)

    def add(self, key: H) -> None:
        """Want work on a key as soon as possible; a delayed add of it becomes superfluous."""
        if self._closed:
            return
        self._due.pop(key, None)
        if key in self._processing:
            self._again.add(key)
        elif key not in self._ready:
            self._ready[key] = self._clock.monotonic()
        self._wakeup.set()
        self._report()

    def add_after(self, key: H, seconds: float) -> None:
        """Want work on a key in `seconds`; the earliest of several wishes wins."""
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
        """Want work on a key after a delay that grows with its failures in a row; return that delay in seconds."""
        self._failures[key] = self._failures.get(key, 0) + 1
        delay = self._backoff.delay(self._failures[key], self._chance)
        self.add_after(key, delay)
        return delay

    def forget(self, key: H) -> None:
        """Forget a key's failures: it went well, or it is gone."""
        self._failures.pop(key, None)

    def failures(self, key: H) -> int:
        """Return how often in a row a key has failed."""
        return self._failures.get(key, 0)

    async def get(self) -> H:
        """Take the next key, waiting for one; raises QueueClosed. Call `done` with it afterwards, whatever happens."""
        while True:
            self._promote()
            if self._closed:
                raise QueueClosed
            if self._ready:
                return self._take()
            await self._wait()

    def done(self, key: H) -> None:
        """Give a key back; if it was added meanwhile, it is ready again."""
        self._processing.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        if not self._processing:
            self._idle.set()

    def close(self) -> None:
        """Stop handing out keys; those being processed may be finished, what waits is dropped."""
        self._closed = True
        self._ready.clear()
        self._due.clear()
        self._heap.clear()
        self._again.clear()
        self._wakeup.set()
        self._report()

    async def wait_idle(self) -> None:
        """Wait until no key is being processed: after `close`, until all work is finished."""
        await self._idle.wait()

    def _take(self) -> H:
        key, since = self._ready.popitem(last=False)
        self._processing.add(key)
        self._idle.clear()
        self._observer.started(self._clock.monotonic() - since)
        self._report()
        return key

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
            # A wish that an earlier one has overtaken is still in the heap, but no longer what is due.
            if self._due.get(key) == at:
                self.add(key)

    def _compact(self) -> None:
        # Overtaken wishes leave the heap when their time comes, which may be long; there may not be many of them.
        if len(self._heap) > 64 + 2 * len(self._due):
            self._heap = [(at, next(self._order), key) for key, at in self._due.items()]
            heapq.heapify(self._heap)

    def _report(self) -> None:
        self._observer.depth(len(self._ready), len(self._due))
