"""Asks a search cluster. Answers are limited in time and size; an answer that does not come leaves no earlier one."""

import time
from collections.abc import Callable
from typing import Any

from stateward.engines.connection.base import Call, EngineError, RefusedError, Transport
from stateward.engines.connection.decoding import decoded
from stateward.engines.search.exporter.settings import SearchSettings
from stateward.exporter.metric import DURATION, UP
from stateward.exporter.rounds import Round
from stateward.exporter.samples import Sample, labels_of
from stateward.exporter.search.catalog import DETAILS, GROUPS, wanted
from stateward.exporter.search.translation import health_samples, node_samples, readable

LARGEST = 16 << 20
"""Limit in bytes of one answer: a node takes about 5 KiB."""
NODES_PATIENCE, HEALTH_PATIENCE = 6.0, 3.0
"""Seconds for each answer: together below the 10 s that Prometheus waits by default."""
NODES = f"/_nodes/stats/{GROUPS}/{DETAILS}"
HEALTH = "/_cluster/health"
GOOD = 200


class Questions:
    """The questions to one database."""

    def __init__(
        self, transport: Transport, settings: SearchSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._clock = clock

    async def ask(self) -> Round:
        """Return present samples."""
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
