"""Work that runs beside a block of code, and ends with it."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@asynccontextmanager
async def in_background(*works: Coroutine[Any, Any, T]) -> AsyncGenerator[tuple[asyncio.Task[T], ...]]:
    """Run coroutines as tasks for the block, which it yields; then cancel them, and wait until they have ended.

    The block goes on when one of them fails. The error is reported at once to the exception handler of the event loop,
    which logs it by default.
    """
    tasks = tuple(asyncio.create_task(work) for work in works)
    for task in tasks:
        task.add_done_callback(_report)
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _report(task: asyncio.Task[Any]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        context = {"message": "work in the background has failed", "exception": error, "task": task}
        task.get_loop().call_exception_handler(context)
