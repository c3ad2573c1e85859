"""Rounds of questions: at most one in a few seconds and never two at a time, however often the exporter is scraped."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from stateward.exporter.samples import Sample

FRESH = 5.0
"""Seconds for which answers are served again."""


class Round(Struct, frozen=True):
    """What one round of questions has found."""

    samples: tuple[Sample, ...]
    failure: str = ""
    """Why an answer is missing, in one sentence without secrets."""
    starting: bool = False
    """Whether that is because the first answer is on its way."""


class Source(Protocol):
    """Where the values of one database come from."""

    async def ask(self) -> Round:
        """Return present samples; never raises for what the database does."""
        ...


class Rounds:
    """The rounds of one source; the last one is served for a few seconds."""

    def __init__(self, source: Source, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._clock = clock
        self._lock = asyncio.Lock()
        self._last: tuple[float, Round] | None = None

    async def round(self) -> Round:
        """Return present samples; those of other scrapes are at most `FRESH` seconds old."""
        async with self._lock:
            if self._last is None or self._clock() - self._last[0] >= FRESH:
                made = await self._source.ask()
                self._last = (self._clock(), made)
            return self._last[1]
