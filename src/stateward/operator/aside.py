"""Work that takes a processor for long is done beside the event loop, which watches, renews leases and answers probes.

A package may take a second to render. One thread of the process works at that, and the interpreter lets the loop go on
every few milliseconds meanwhile. It is one because a compiled template counts what a rendering does: two at once would
count together.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

Result = TypeVar("Result")
_THREAD = ThreadPoolExecutor(1, "aside")


class Aside(Protocol):
    """Does work without keeping the event loop from going on; raises what the work raises."""

    async def __call__(self, work: Callable[[], Result]) -> Result:
        """Return what the work returns."""
        ...


async def in_thread(work: Callable[[], Result]) -> Result:
    """Return what the work returns, once the thread has come to it."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)


async def at_once(work: Callable[[], Result]) -> Result:
    """Return what the work returns, while everything else waits: for virtual time, which no thread keeps up with."""
    return work()
