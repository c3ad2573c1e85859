"""The event queue: a clock that jumps from one event to the next."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from math import inf


@dataclass(slots=True)
class EventQueue:
    """Events in order of time; events of the same time in the order in which they were added."""

    now: float
    _due: list[tuple[float, int, Callable[[], None]]] = field(
        default_factory=list[tuple[float, int, Callable[[], None]]]
    )
    _numbers: "count[int]" = field(default_factory=count)

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Add an event."""
        heapq.heappush(self._due, (self.now + seconds, next(self._numbers), do))

    @property
    def empty(self) -> bool:
        """Whether no event is left."""
        return not self._due

    @property
    def due(self) -> float:
        """The time of the next event; infinity without one."""
        return self._due[0][0] if self._due else inf

    def step(self) -> None:
        """Advance to the next event, and run it."""
        when, _, do = heapq.heappop(self._due)
        self.now = max(self.now, when)
        do()

    def until(self, when: float) -> None:
        """Run all events up to a time, and advance to it."""
        while self._due and self._due[0][0] <= when:
            self.step()
        self.now = max(self.now, when)
