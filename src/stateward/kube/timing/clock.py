"""Replaceable time.

All code in this package that waits, times out or measures uses a `Clock`, so that a test or a simulation can skip a day
at once. `SystemClock` follows the event loop; on a `VirtualTimeLoop` its time is virtual too.
"""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

LEAP = 3600.0
"""Seconds of a jump of wall time, forward or back, above which it is no longer a correction."""
LASTING = 900.0
"""Seconds after which a jump is accepted: the machine was suspended, or its clock was wrong before."""


class Clock(Protocol):
    """Monotonic time for durations, wall time for display, and a way to wait."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back, even if the wall clock does."""
        ...

    def now(self) -> datetime:
        """Wall time in UTC: for time stamps only, never for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`; zero lets other tasks run."""
        ...

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """Limit a block to `seconds` (None: no limit); raise TimeoutError after that.

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
    """The clock of this machine, which ignores jumps until the time after them has lasted.

    If the machine's clock were years ahead for a moment, certificates and authorities would be renewed as if expired,
    and members replaced as if missing for long. A process that starts with such a time can do nothing: to it, the API
    server's certificate has expired.
    """

    def __init__(self) -> None:
        self._known = self.monotonic(), time.time()
        self._leapt: tuple[float, float] | None = None

    def now(self) -> datetime:
        """Return the system's wall time in UTC; for a while after a jump, the time without the jump."""
        monotonic, wall = self.monotonic(), time.time()
        expected = self._known[1] + monotonic - self._known[0]
        if abs(wall - expected) < LEAP or self._lasts(monotonic, wall):
            self._known, self._leapt = (monotonic, wall), None
            return datetime.fromtimestamp(wall, UTC)
        return datetime.fromtimestamp(expected, UTC)

    def _lasts(self, monotonic: float, wall: float) -> bool:
        """Return whether the time after a jump has continued normally for long enough."""
        if self._leapt is None or abs(wall - (self._leapt[1] + monotonic - self._leapt[0])) >= LEAP:
            self._leapt = monotonic, wall
        return monotonic - self._leapt[0] >= LASTING
