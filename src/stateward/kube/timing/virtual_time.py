"""An event loop with a time that jumps instead of passing.

When every task waits, the loop moves its time to the next timer instead of sleeping, so `asyncio.sleep(3600)` takes no
time and the order of events is the same in every run. Sockets still work: ready sockets are always handled before time
moves, so in-process HTTP servers work in virtual time.
"""

import asyncio
import selectors
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_DEADLOCK_SECONDS = 10.0
# A peer on the loopback interface answers within this real time, so no jump overtakes an answer.
_SOCKET_GRACE_SECONDS = 0.001


class Deadlock(RuntimeError):  # noqa: N818 - a state of the program, named as such
    """Every task waits for an event that no timer and no socket will cause."""


class _JumpingSelector(selectors.BaseSelector):
    """Polls the real selector; when nothing is ready, moves virtual time to the end of the loop's sleep."""

    def __init__(self) -> None:
        self.now = 0.0
        self._real = selectors.DefaultSelector()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def close(self) -> None:
        self._real.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # The loop's own wake-up pipe is always registered; any further one is a socket of the program.
        grace = _SOCKET_GRACE_SECONDS if len(self.get_map()) > 1 else 0.0
        ready = self._real.select(0.0 if timeout == 0 else grace)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            return self._wait_for_the_outside()
        self.now += timeout
        return ready

    def _wait_for_the_outside(self) -> list[tuple[selectors.SelectorKey, int]]:
        # No timer at all: only a thread or a process can wake the loop, and that takes real time.
        ready = self._real.select(_DEADLOCK_SECONDS)
        if not ready:
            raise Deadlock("all tasks are waiting and no timer is set: the program would hang here")
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop in virtual time, starting at 0.0 seconds."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds of virtual time since the loop was made."""
        return self._jumping.now


class VirtualClock:
    """The clock of the running `VirtualTimeLoop`; its wall time starts on 1 January 2026."""

    def monotonic(self) -> float:
        """Seconds of the loop's virtual time."""
        return asyncio.get_running_loop().time()

    def now(self) -> datetime:
        """Return the wall time in UTC: the start plus the virtual seconds that passed."""
        return _EPOCH + timedelta(seconds=self.monotonic())

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds` of virtual time."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """Limit a block to `seconds` of virtual time."""
        return asyncio.timeout(seconds)
