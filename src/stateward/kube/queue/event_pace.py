"""How soon an event leads to work on its key: at once, unless the key was worked on very often in the last seconds.

The disaster this prevents: the pods of a cluster never come to rest, each of their events is a reason to look at the
cluster again, and its database, which is in trouble already, answers questions several times a second. Or a user writes
an object a hundred times a second, and the operator looks as often at all that uses it.
"""

from typing import Generic

from stateward.kube.queue.queue import H, WorkQueue
from stateward.kube.timing.clock import Clock

BURST = 10
"""Rounds of one key that may begin without any delay; enough for every step of a change that a user waits for."""
SECONDS = 1.0
"""Seconds between two rounds of a key that events cause, when the burst is used up."""
FEW = 64
"""Keys that may be remembered although their time is over."""


class EventPace(Generic[H]):
    """Adds keys of events to a queue; what asks for work at a certain time goes to the queue itself."""

    def __init__(self, queue: WorkQueue[H], clock: Clock, burst: int = BURST, seconds: float = SECONDS) -> None:
        self._queue = queue
        self._clock = clock
        self._slack = (burst - 1) * seconds
        self._seconds = seconds
        self._paid: dict[H, float] = {}
        """Until when the rounds of a key would have lasted, one each interval."""
        self._room = FEW

    def begun(self, key: H) -> None:
        """Note that a round of a key begins, for whatever reason."""
        now = self._clock.monotonic()
        self._paid[key] = min(max(self._paid.get(key, now), now) + self._seconds, now + self._slack + self._seconds)
        if len(self._paid) > self._room:
            self._paid = {each: until for each, until in self._paid.items() if until > now}
            self._room = FEW + 2 * len(self._paid)

    def add(self, key: H) -> None:
        """Add the key of an event: at once, or when its next round is due."""
        self._queue.add_after(key, self._paid.get(key, 0.0) - self._slack - self._clock.monotonic())
