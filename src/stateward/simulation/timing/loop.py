"""An asyncio event loop without sockets whose time jumps to the next timer, and its clock.

It has no real selector, and nothing outside can wake it. So the order of steps follows from the program alone, and an
hour without events costs no time.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from heapq import heapify
from typing import Any, TypeVar, cast

from stateward.simulation.timing.bounds import Exhausted, most_of

T = TypeVar("T")

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""Wall time at the start of a world."""

HOUR = 3600.0
TURNS_BETWEEN_CLOCK_CHECKS = 256
"""Turns of the loop between two checks of the real time."""


class Deadlock(RuntimeError):  # noqa: N818 - a state of the world, named as such
    """All tasks wait, and no timer is set."""


class WorldLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time that begins at 0.0 seconds."""

    def __init__(self) -> None:
        self._now = 0.0
        self._turns = self._steps = 0
        self._hour_ends = HOUR
        self._most_steps, self._deadline, self._allowed = 0, 0.0, 0.0
        self._pause_after = float("inf")
        super().__init__()
        # The base class asks its selector to sleep until the next timer; here this advances the time.
        self._selector = self

    def limit(self, *, steps: int, seconds: float) -> None:
        """Raise `Exhausted` after this many steps in one hour of virtual time, or this many real seconds from now."""
        self._most_steps, self._deadline, self._allowed = steps, time.perf_counter() + seconds, seconds
        self._steps, self._hour_ends = 0, self._now + HOUR

    def run_until(self, when: float) -> None:
        """Run every step that is due up to this virtual time, and return.

        It sets no timer, and the clock stays at the last step: where a run pauses changes nothing in it.
        """
        self._pause_after = when
        try:
            self.run_forever()
        finally:
            self._pause_after = float("inf")

    def time(self) -> float:
        """Seconds of virtual time since the creation of the loop."""
        return self._now

    def select(self, timeout: float | None = None) -> Sequence[Any]:
        """Advance time to the next timer instead of sleeping; raises Deadlock if there is none, or Exhausted."""
        if timeout is None:
            raise Deadlock("all tasks wait and no timer is set")
        timers = self._timers
        if timeout > 0 and timers and timers[0].when() > self._pause_after:
            self.stop()
            return ()
        if timeout > 0:
            self._now = min(timers[0].when(), self._now + timeout) if timers else self._now + timeout
            if self._now >= self._hour_ends:
                self._hour_ends, self._steps = self._now + HOUR, 0
        self._turns += 1
        self._steps += len(self._waiting) + 1
        if self._most_steps and (self._steps > self._most_steps or not self._turns % TURNS_BETWEEN_CLOCK_CHECKS):
            self._check_limits()
        return ()

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Set a timer; each counts as a step, because all due timers run in one turn of the loop."""
        self._steps += 1
        return super().call_at(when, callback, *args, context=context)

    def _check_limits(self) -> None:
        """Raise `Exhausted` at a limit; afterwards there is no limit, so that cancelled tasks can end."""
        if self._steps > self._most_steps:
            reached = f"took more than {self._most_steps:,} steps within one simulated hour"
        elif time.perf_counter() > self._deadline:
            reached = f"took more than {self._allowed:g} s"
        else:
            return
        self._most_steps = 0
        raise Exhausted(f"{reached}; {most_of(self._waiting, self._timers)}")

    @property
    def _waiting(self) -> Sequence[asyncio.Handle]:
        return cast("Sequence[asyncio.Handle]", self._ready)  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def _timers(self) -> list[asyncio.TimerHandle]:
        return cast("list[asyncio.TimerHandle]", self._scheduled)  # pyright: ignore[reportAttributeAccessIssue]

    def advance_timers(self, timers: Sequence[asyncio.TimerHandle], seconds: float) -> None:
        """Let timers fire this many seconds sooner."""
        for timer in timers:
            timer._when = max(self._now, timer.when() - seconds)  # noqa: SLF001 - asyncio has no public way to move a timer
        heapify(self._timers)

    def _process_events(self, event_list: Sequence[Any]) -> None:
        """Do nothing: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: there is no other thread that could wake the loop."""


class WorldClock:
    """The clock of a world."""

    def __init__(self, loop: asyncio.AbstractEventLoop, epoch: datetime = EPOCH) -> None:
        self._loop = loop
        self._epoch = epoch

    def monotonic(self) -> float:
        """Seconds of virtual time since the start of the world."""
        return self._loop.time()

    def now(self) -> datetime:
        """Return the wall time of the world."""
        return self._epoch + timedelta(seconds=self._loop.time())

    def timestamp(self) -> float:
        """Return the wall time as seconds since the Unix epoch."""
        return self._epoch.timestamp() + self._loop.time()

    def advance_wall_time(self, seconds: float) -> None:
        """Advance the wall time only; measured durations do not change."""
        self._epoch += timedelta(seconds=seconds)

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds` of virtual time."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """Limit a block to `seconds` of virtual time."""
        return asyncio.timeout(seconds)


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a new loop; cancel remaining tasks."""
    with asyncio.Runner(loop_factory=WorldLoop) as runner:
        return runner.run(main)
