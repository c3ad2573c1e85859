"""How long a run may take: a world that spins ends with a message instead of never.

Two limits, as a world can spin in two ways. Steps are counted by the loop, for each hour of virtual time: timers that
multiply reach that limit, at the same step every time. Real time ends what never comes back to the loop, too.
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
"""Steps in an hour of virtual time. The busiest storm that was measured takes 630,000, a calm hour 20,000."""
WALL = 900.0
"""Real seconds for a run of any length: storms of an hour take 3 to 60."""
WALL_PER_HOUR = 2.0
"""Real seconds on top for each hour of virtual time: a month of ordinary days takes 20 to 60."""
GRACE = 5.0
"""Real seconds after the limit for which the loop may still end the run itself, between two steps."""
SHOWN = 3
"""Kinds of steps that are named in the message."""


class Bounds(Struct, frozen=True):
    """The limits of one run."""

    steps: int = STEPS
    """Steps of the loop in one hour of virtual time."""
    wall: float | None = None
    """Real seconds; None for `WALL`, and `WALL_PER_HOUR` for each hour of virtual time."""

    def seconds(self, virtual: float) -> float:
        """Return the real seconds for a run that is to last so many virtual ones."""
        return WALL + WALL_PER_HOUR * virtual / 3600 if self.wall is None else self.wall


class Exhausted(RuntimeError):  # noqa: N818 - a state of the world, named as such
    """A run has reached a limit; the message says which, and what was most of what was due."""


class Interrupted(SystemExit):
    """A single step has not ended within the real time of the run; the message says where it was.

    It is a `SystemExit` because asyncio hands any other error to the task, whose code might go on in spite of it.
    """


def most_of(due: Iterable[Handle], later: Iterable[Handle]) -> str:
    """Return whose most of the steps are that are due now, and of those that are set for later, as clauses."""
    return f"due now: {_counted(due)}; set for later: {_counted(later)}"


def _counted(handles: Iterable[Handle]) -> str:
    counted = Counter(_name(handle) for handle in handles if not handle.cancelled())
    return ", ".join(f"{number:,} of {name}" for name, number in counted.most_common(SHOWN)) or "none"


def _name(handle: Handle) -> str:
    """Return whose step it is: that of a function, or of the task that it continues."""
    callback = cast("object", getattr(handle, "_callback", None))
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, Task):
        coroutine = cast("object", owner.get_coro())
        return f"task {getattr(coroutine, '__qualname__', owner.get_name())}"
    return str(getattr(callback, "__qualname__", type(callback).__name__))


@contextmanager
def interrupted_after(seconds: float) -> Generator[None]:
    """Raise `Interrupted` in a step that has not ended after so many real seconds, where signals can be had."""
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
