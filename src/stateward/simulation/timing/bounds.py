"""Limits of a run: an endless run ends with a message.

There are two limits. The loop counts steps for each hour of virtual time: multiplying timers reach that limit, at the
same step every time. The limit of real time also ends a step that never returns to the loop.
"""

import signal
import threading
import traceback
from asyncio import Handle, Task
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import cast

from msgspec import Struct

STEPS = 5_000_000
"""Steps in an hour of virtual time. The busiest measured storm takes 630,000, a quiet hour 20,000."""
WALL = 900.0
"""Real seconds for a run of any length: storms of an hour take 3 to 60."""
WALL_PER_HOUR = 2.0
"""Additional real seconds for each hour of virtual time: a month of ordinary days takes 20 to 60."""
GRACE = 5.0
"""Real seconds after the limit in which the loop may end the run between two steps."""
SHOWN = 3
"""Number of step kinds in the message."""


class Bounds(Struct, frozen=True):
    """The limits of one run."""

    steps: int = STEPS
    """Steps of the loop in one hour of virtual time."""
    wall: float | None = None
    """Real seconds; None for `WALL`, and `WALL_PER_HOUR` for each hour of virtual time."""

    def seconds(self, virtual: float) -> float:
        """Return the limit of real seconds for a run of this many virtual seconds."""
        return WALL + WALL_PER_HOUR * virtual / 3600 if self.wall is None else self.wall


class Exhausted(RuntimeError):  # noqa: N818 - the name describes a state of the world
    """A run has reached a limit; the message names it and the most frequent steps."""


class Interrupted(SystemExit):
    """A single step has not ended within the real time of the run; the message names its function.

    It is a `SystemExit` because asyncio passes any other error to the task, whose code might catch it.
    """


def most_of(due: Iterable[Handle], later: Iterable[Handle]) -> str:
    """Return the most frequent due and scheduled steps, as clauses."""
    return f"due now: {_counted(due)}; set for later: {_counted(later)}"


def _counted(handles: Iterable[Handle]) -> str:
    counted = Counter(_name(handle) for handle in handles if not handle.cancelled())
    return ", ".join(f"{number:,} of {name}" for name, number in counted.most_common(SHOWN)) or "none"


def _name(handle: Handle) -> str:
    """Return the name of a step: its function, or the task that it continues."""
    callback = cast("object", getattr(handle, "_callback", None))
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, Task):
        coroutine = cast("object", owner.get_coro())
        return f"task {getattr(coroutine, '__qualname__', owner.get_name())}"
    return str(getattr(callback, "__qualname__", type(callback).__name__))


@contextmanager
def interrupted_after(seconds: float) -> Generator[None]:
    """Raise `Interrupted` in a step that has not ended after this many real seconds, if signals are available."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    calls = traceback.extract_stack(frame)[-SHOWN:]
    where = ", called by ".join(f"{c.name} ({Path(c.filename).name}:{c.lineno})" for c in reversed(calls))
    raise Interrupted(f"a single step did not end; it was in {where}")
