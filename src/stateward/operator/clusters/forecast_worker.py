"""Forecasts a change in a process of its own, with the limits of `engines/connection/worker` and a low priority.

The planner runs through the whole change. Measured: 0.3 s of processor time for 30 members, 3 s for 120, and 30 MiB.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator

import msgspec
from msgspec import Struct

from stateward.engines.connection.worker import run_in_worker, serve
from stateward.forecast.change import Change, change_of
from stateward.forecast.durations import Durations
from stateward.forecast.forecast import run_forecast
from stateward.planning.model.observation import Observation

NICE = 10
"""How much the process yields to the operator and to the workers that read answers of databases."""


class Begun(Struct, frozen=True):
    """A change that begins: its cluster at a time (seconds since the epoch), and how long its steps take."""

    observed: Observation
    now: float
    durations: Durations


class Outcome(Struct, frozen=True):
    """The kind of a change and its duration in seconds; None if it would not end, or if there is nothing to do."""

    change: Change
    seconds: float | None


Compute = Callable[[Begun], Awaitable[Outcome]]
"""Returns the forecast of a change; raises EngineError."""


class ForecastWorker:
    """Computes forecasts in other processes, one at a time for all clusters."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()

    async def __call__(self, begun: Begun) -> Outcome:
        """Return the forecast of a change; raise EngineError if its process ends without one."""
        frames = (msgspec.msgpack.encode(begun),)
        async with self._one, run_in_worker(__name__, frames, "the state of a cluster") as parts:
            return msgspec.msgpack.decode(await anext(parts), type=Outcome)


def outcome_of(begun: Begun) -> Outcome:
    """Return the forecast of a change."""
    start = msgspec.structs.replace(begun.observed, live=True)
    found = run_forecast(start, begun.now, begun.durations)
    return Outcome(change_of(start, found), found.seconds if found.steps else None)


def forecast_frames(frames: Iterator[bytes]) -> Iterable[bytes]:
    """Yield the outcome."""
    yield msgspec.msgpack.encode(outcome_of(msgspec.msgpack.decode(b"".join(frames), type=Begun)))


if __name__ == "__main__":
    os.nice(NICE)
    serve(forecast_frames)
