"""Replaceable time.

All code in this package that waits, times out or measures uses a `Clock`, so that a test or a simulation can skip a day
at once. `SystemClock` follows the event loop; on a `VirtualTimeLoop` its time is virtual too.
"""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


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
