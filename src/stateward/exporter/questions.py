"""Asks the database, at most once in a few seconds and never twice at a time, however often the exporter is scraped.

Answers are limited in time and size. An answer that does not come leaves no earlier one in its place.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from stateward.engines.connection.base import Call, EngineError, RefusedError, Transport
from stateward.engines.connection.decoding import decoded
from stateward.engines.search.exporter.settings import Settings
from stateward.exporter.catalog import DETAILS, DURATION, GROUPS, UP, wanted
from stateward.exporter.translation import Sample, health_samples, labels_of, node_samples, readable

FRESH = 5.0
"""Seconds for which answers are served again."""
LARGEST = 16 << 20
"""Limit in bytes of one answer: a node takes about 5 KiB."""
NODES_PATIENCE, HEALTH_PATIENCE = 6.0, 3.0
"""Seconds for each answer: together below the 10 s that Prometheus waits by default."""
NODES = f"/_nodes/stats/{GROUPS}/{DETAILS}"
HEALTH = "/_cluster/health"
GOOD = 200


class Round(Struct, frozen=True):
    """What one round of questions has found."""

    samples: tuple[Sample, ...]
    failure: str = ""
    """Why an answer is missing, in one sentence without secrets."""


class Questions:
    """The questions to one database, and their last answers for a few seconds."""

    def __init__(self, transport: Transport, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._transport = transport
        self._settings = settings
        self._clock = clock
        self._lock = asyncio.Lock()
        self._last: tuple[float, Round] | None = None

    async def round(self) -> Round:
        """Return present samples; those of other scrapes are at most `FRESH` seconds old."""
        async with self._lock:
            if self._last is None or self._clock() - self._last[0] >= FRESH:
                made = await self._ask()
                self._last = (self._clock(), made)
            return self._last[1]

    async def _ask(self) -> Round:
        began, whose = self._clock(), self._settings
        nodes, why = await self._answer(NODES, {"filter_path": wanted(), "timeout": "5s"}, NODES_PATIENCE)
        health, also = await self._answer(HEALTH, {}, HEALTH_PATIENCE)
        whole = readable(health, nodes)
        failure = why or also or ("" if whole else "an answer has no known status, or no node")
        own = (Sample(UP, labels_of(whose), float(whole)), Sample(DURATION, labels_of(whose), self._clock() - began))
        return Round((*own, *health_samples(health, whose), *node_samples(nodes, whose)), failure)

    async def _answer(self, path: str, params: dict[str, str], patience: float) -> tuple[dict[str, Any] | None, str]:
        """Return a decoded answer, or None and why there is none."""
        endpoint = self._settings.endpoint
        try:
            answer = await self._transport.send(Call(endpoint, "GET", path, params, patience=patience))
            if answer.status != GOOD:
                raise RefusedError(f"{endpoint}{path} answers with status {answer.status}", answer.status)
            return decoded(dict[str, Any], answer.body, f"{endpoint}{path} cannot be read:"), ""
        except EngineError as error:
            return None, str(error)[:500]
