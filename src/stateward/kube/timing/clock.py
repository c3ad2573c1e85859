"""Time as a thing that can be swapped.

Everything in this package that waits, times out or measures asks a `Clock`, so a test or a simulation can let a day
pass in a blink. `SystemClock` follows the event loop; run it on a `VirtualTimeLoop` and its time is virtual as well.
"""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

LEAP = 3600.0
"""Seconds by which wall time goes ahead or back at once that are no correction any more."""
LASTING = 900.0
"""Seconds after which a leap is believed: a machine has slept, or its clock was wrong before."""


class Clock(Protocol):
    """Monotonic time for durations, wall time for what people read, and a way to wait."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back, whatever happens to the wall clock."""
        ...

    def now(self) -> datetime:
        """Wall time in UTC: for time stamps only, never for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`; zero lets other tasks run."""
        ...

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """Limit a block to `seconds` (None: no limit); raises TimeoutError when they are over.

        The limit can be moved while the block runs, in the time of the event loop.
        """
        ...


class SystemClock:
    """The clock of this machine."""

    def monotonic(self) -> float:
        """Seconds of the system's monotonic clock."""
        return time.monotonic()

    def now(self) -> datetime:
        """Return the system's wall time in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds` of the running event loop."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """Limit a block to `seconds` of the running event loop."""
        return asyncio.timeout(seconds)


class SteadyClock(SystemClock):
    """The clock of this machine, whose leaps are not believed until the time after them has lasted.

    The disaster this prevents: the machine's clock is years ahead for a moment. Certificates and authorities are made
    anew as if they had ended, and members are replaced as if they had been missing for long. A process that begins with
    such a time gets nowhere: to it, the API server's certificate has ended.
    """

    def __init__(self) -> None:
        self._known = self.monotonic(), time.time()
        self._leapt: tuple[float, float] | None = None

    def now(self) -> datetime:
        """Return the system's wall time in UTC; after a leap, for a while what it would be without."""
        monotonic, wall = self.monotonic(), time.time()
        expected = self._known[1] + monotonic - self._known[0]
        if abs(wall - expected) < LEAP or self._lasts(monotonic, wall):
            self._known, self._leapt = (monotonic, wall), None
            return datetime.fromtimestamp(wall, UTC)
        return datetime.fromtimestamp(expected, UTC)

    def _lasts(self, monotonic: float, wall: float) -> bool:
        """Return whether the time after a leap has gone on as time does for long enough."""
        if self._leapt is None or abs(wall - (self._leapt[1] + monotonic - self._leapt[0])) >= LEAP:
            self._leapt = monotonic, wall
        return monotonic - self._leapt[0] >= LASTING
