"""Tells people of resources whose reconciliation fails again and again: in the status, as an event and as a metric.

An unexpected error is logged and tried again. Without more, a resource would go on being Ready while nothing of what
was asked for is done. The operator goes on trying, and takes the words back after the first round that succeeds.

What an error says may hold what it failed on, such as a value of a Secret. So people read its type and its place in the
program, and only the log has the whole text. What the API server says of missing rights and objects names nothing else,
and is told.
"""

from collections.abc import Awaitable, Callable
from pathlib import PurePath
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from stateward.kube.objects.errors import Conflict, Forbidden, NotFound, UnknownResource
from stateward.kube.timing.clock import Clock

H = TypeVar("H")
SPOKEN = (Forbidden, NotFound, UnknownResource)
"""Errors whose text names rights, kinds and objects, and never what is in an object."""
AGAIN = 60.0
"""Seconds within which the status of one resource is not written again, whatever else fails in it meanwhile: each write
has it looked at at once."""
RACES = 5
"""Failures in a row from which on lost races are told: two in a row are common where somebody else writes much."""
LONGEST = 400
"""Characters of an error that are told."""


class FailureGauge(Protocol):
    """Shows how often in a row the reconciliation of a resource has failed."""

    def failing(self, controller: str, key: str, failures: int) -> None:
        """Note the failures in a row of a resource; 0 when there are none any more."""
        ...


class Uncounted:
    """A gauge that nobody reads."""

    def failing(self, controller: str, key: str, failures: int) -> None:
        """Do nothing."""


class Failing(Generic[H]):
    """Tells of the failures of one controller; `write` writes a sentence where people read it, by its own means."""

    def __init__(
        self, controller: str, gauge: FailureGauge, clock: Clock, write: Callable[[H, str], Awaitable[None]]
    ) -> None:
        self._controller = controller
        self._gauge = gauge
        self._clock = clock
        self._write = write
        self._written: dict[H, float] = {}

    async def failed(self, key: H, failures: int, error: Exception) -> None:
        """Tell of a failure that is not the first; raises what writing raises, and then it is told the next time."""
        self._gauge.failing(self._controller, str(key), failures)
        now, last = self._clock.monotonic(), self._written.get(key)
        raced = isinstance(error, Conflict) and failures < RACES
        if raced or (last is not None and now - last < AGAIN):
            return
        await self._write(key, told(error))
        self._written[key] = now

    async def recovered(self, key: H) -> None:
        """Take the metric back; the status says what is after the round that has succeeded."""
        self._gauge.failing(self._controller, str(key), 0)
        self._written.pop(key, None)


def told(error: BaseException) -> str:
    """Return a failure as a sentence that holds nothing of what the error was made from."""
    said = f" ({' '.join(str(error).split())[:LONGEST]})" if isinstance(error, SPOKEN) else ""
    return (
        f"the operator's last reconciliations failed with {type(error).__name__}{said}{place(error.__traceback__)}; it"
        " retries, and its log has the whole error"
    )


def place(trace: TracebackType | None) -> str:
    """Return where in Stateward an error came up: the innermost of its own lines."""
    found = ""
    while trace is not None:
        parts = PurePath(trace.tb_frame.f_code.co_filename).parts
        if "stateward" in parts:
            inside = parts[len(parts) - 1 - parts[::-1].index("stateward") :]
            found = f" in {'/'.join(inside)}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found
