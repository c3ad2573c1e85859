"""Time as a thing that can be swapped.

Everything in this package that waits, times out or measures asks a `Clock`, so a test or a simulation can let a day
pass in a blink. `SystemClock` follows the event loop; run it on a `VirtualTimeLoop` and its time is virtual as well.
"""

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Protocol


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

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        """Limit a block to `seconds` (None: no limit); raises TimeoutError when they are over."""
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

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        """Limit a block to `seconds` of the running event loop."""
        return asyncio.timeout(seconds)
