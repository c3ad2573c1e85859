"""Reports resources whose reconciliation fails repeatedly: in the status, as an event and as a metric.

An unexpected error is logged and retried. Without more, a resource would stay Ready while none of its changes is
applied. The operator keeps retrying, and removes the report after the first success.

The text of an error may contain what it failed on, such as a value of a Secret. So users get its type and its place in
the program, and only the log has the whole text. The API server's text about missing rights and objects contains
nothing else, and is shown.
"""

from collections.abc import Awaitable, Callable
from pathlib import PurePath
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from stateward.kube.objects.errors import Conflict, Forbidden, NotFound, UnknownResource
from stateward.kube.timing.clock import Clock

H = TypeVar("H")
SPOKEN = (Forbidden, NotFound, UnknownResource)
"""Errors whose text names rights, kinds and objects, and never the content of an object."""
AGAIN = 60.0
"""Seconds within which the status of one resource is not written again, for any failure in between: each write causes a
reconciliation at once.
"""
RACES = 5
"""Failures in a row from which on conflicts are reported: two in a row are common if another client writes often."""
LONGEST = 400
"""Characters of an error that are reported."""


class FailureGauge(Protocol):
    """Shows how often in a row the reconciliation of a resource has failed."""

    def failing(self, controller: str, key: str, failures: int) -> None:
        """Record the failures in a row of a resource; 0 if there are none any longer."""
        ...


class Uncounted:
    """A gauge without a reader."""

    def failing(self, controller: str, key: str, failures: int) -> None:
        """Do nothing."""


class Failing(Generic[H]):
    """Reports the failures of one controller; `write` writes a sentence into the status, by its own means."""

    def __init__(
        self, controller: str, gauge: FailureGauge, clock: Clock, write: Callable[[H, str], Awaitable[None]]
    ) -> None:
        self._controller = controller
        self._gauge = gauge
        self._clock = clock
        self._write = write
        self._written: dict[H, float] = {}

    async def failed(self, key: H, failures: int, error: Exception) -> None:
        """Report a failure that is not the first; raises what writing raises, and then it is reported the next time."""
        self._gauge.failing(self._controller, str(key), failures)
        now, last = self._clock.monotonic(), self._written.get(key)
        raced = isinstance(error, Conflict) and failures < RACES
        if raced or (last is not None and now - last < AGAIN):
            return
        await self._write(key, sentence(error))
        self._written[key] = now

    async def recovered(self, key: H) -> None:
        """Reset the metric; the status of the successful round replaces the report."""
        self._gauge.failing(self._controller, str(key), 0)
        self._written.pop(key, None)


def sentence(error: BaseException) -> str:
    """Return a failure as a sentence without any input of the failed operation."""
    said = f" ({' '.join(str(error).split())[:LONGEST]})" if isinstance(error, SPOKEN) else ""
    return (
        f"the operator's last reconciliations failed with {type(error).__name__}{said}{place(error.__traceback__)}; it"
        " retries, and its log has the whole error"
    )


def place(trace: TracebackType | None) -> str:
    """Return the place of an error in Stateward: the innermost of its own lines."""
    found = ""
    while trace is not None:
        parts = PurePath(trace.tb_frame.f_code.co_filename).parts
        if "stateward" in parts:
            inside = parts[len(parts) - 1 - parts[::-1].index("stateward") :]
            found = f" in {'/'.join(inside)}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found
