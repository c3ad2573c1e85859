"""Tasks that wait for sockets and clocks, in one thread.

`asyncio` does more of the same and takes 5 MB of the 20 MB that the agent may have. One thread means that the state of
the database is never seen half changed.
"""

import contextlib
import math
import selectors
import time
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, NamedTuple

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE
NEVER = math.inf
Task = Coroutine[Any, Any, None]


class Wait(NamedTuple):
    """What a task waits for: a file descriptor that is ready, or a moment of the monotonic clock."""

    descriptor: int | None
    events: int
    deadline: float


def seconds_from_now(seconds: float) -> float:
    """Return the deadline that many seconds ahead."""
    return time.monotonic() + seconds


@coroutine
def ready(descriptor: int, events: int, deadline: float) -> Generator[Wait, None, None]:
    """Wait until the descriptor can be read or written. Raises `TimeoutError` at the deadline."""
    yield Wait(descriptor, events, deadline)


@coroutine
def _until(deadline: float) -> Generator[Wait, None, None]:
    yield Wait(None, 0, deadline)


async def sleep(seconds: float) -> None:
    """Wait that many seconds."""
    with contextlib.suppress(TimeoutError):
        await _until(seconds_from_now(seconds))


class Loop:
    """Runs tasks. A task that fails is reported and ends alone: no bug in an answer may take the database with it."""

    def __init__(self, report: Callable[[Exception], None]) -> None:
        self._report = report
        self._selector = selectors.DefaultSelector()
        self._waiting: dict[Task, Wait] = {}

    def spawn(self, task: Task) -> None:
        """Run the task up to where it first waits."""
        self._step(task, None)

    def turn(self) -> None:
        """Wait for what comes first and run every task that waited for it."""
        first = min((wait.deadline for wait in self._waiting.values()), default=0.0)
        patience = None if first == NEVER else max(0.0, first - time.monotonic())
        for key, _ in self._selector.select(patience):
            self._resume(key.data, None)
        now = time.monotonic()
        for task in [task for task, wait in self._waiting.items() if wait.deadline <= now]:
            self._resume(task, TimeoutError())

    def _resume(self, task: Task, error: TimeoutError | None) -> None:
        wait = self._waiting.pop(task, None)
        if wait is None:
            return  # resumed already in this turn
        if wait.descriptor is not None:
            self._selector.unregister(wait.descriptor)
        self._step(task, error)

    def _step(self, task: Task, error: TimeoutError | None) -> None:
        try:
            wait: Wait = task.send(None) if error is None else task.throw(error)
            if wait.descriptor is not None:
                self._selector.register(wait.descriptor, wait.events, task)
            self._waiting[task] = wait
        except StopIteration:
            return
        except Exception as failure:  # noqa: BLE001 - reported, and the other tasks go on
            self._report(failure)
