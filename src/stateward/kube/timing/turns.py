"""Long computations of which one runs at a time, and between two of them everything else."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Turns:
    """One computation at a time, each followed by a turn of the event loop.

    The disaster this prevents: a tenant writes large specs of many clusters at once, each takes seconds to judge, and
    the event loop judges them all before it renews the lease. The next process begins with all of them again.
    """

    def __init__(self) -> None:
        """Begin with no computation."""
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[None]:
        """Wait for the computations before this one; the block is the next one."""
        async with self._lock:
            yield
            # The lock is still held, so that no other task of this turn of the loop computes, too.
            await asyncio.sleep(0)
