"""What happens when: a clock that jumps from one event to the next."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count


@dataclass(slots=True)
class EventQueue:
    """Events in order of time, and in the order of their making where times are the same."""

    now: float
    _due: list[tuple[float, int, Callable[[], None]]] = field(
        default_factory=list[tuple[float, int, Callable[[], None]]]
    )
    _numbers: "count[int]" = field(default_factory=count)

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Let something happen later."""
        heapq.heappush(self._due, (self.now + seconds, next(self._numbers), do))

    @property
    def empty(self) -> bool:
        """Whether nothing is to come."""
        return not self._due

    def step(self) -> None:
        """Go to the next event, and let it happen."""
        when, _, do = heapq.heappop(self._due)
        self.now = max(self.now, when)
        do()

    def until(self, when: float) -> None:
        """Let everything happen that comes before a time, and go to it."""
        while self._due and self._due[0][0] <= when:
            self.step()
        self.now = max(self.now, when)
