"""Compares the duration of each change with its forecast, which is computed beside the reconciliation when it begins.

The status has the forecast, so a change that outlives this process is still compared. A failure costs only a sample.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog
from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus, ForecastStatus
from stateward.engines.connection.base import EngineError
from stateward.kube.objects.metadata import Key
from stateward.operator.clusters.forecast_worker import Begun, Compute, Outcome
from stateward.operator.clusters.round import Round
from stateward.operator.databases.engine import Family
from stateward.operator.observe.durations import measured_durations, recovery_speed, times_of
from stateward.operator.runtime.metrics import Metrics
from stateward.planning.model.times import parse_time
from stateward.timeline.history import History

_log = structlog.get_logger(__name__)

MOST = 8
"""Changes of one kind of clusters whose forecasts wait or run; those of further clusters are not forecast."""


@dataclass(slots=True)
class Pending:
    """The forecast of one change, by its begin."""

    start: str
    task: asyncio.Task[None]
    outcome: Outcome | None = None


class Forecasts:
    """The forecasts of the clusters of one kind; without `compute` there are none."""

    def __init__(
        self,
        family: Family,
        metrics: Metrics,
        compute: Compute | None,
        history: Callable[[Key], Awaitable[History]],
    ) -> None:
        self._family, self._metrics, self._compute, self._history = family, metrics, compute, history
        self._spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]] | None = None
        self._pending: dict[Key, Pending] = {}

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Forecast from now on, in tasks of a group."""
        self._spawn = group.create_task

    def end(self) -> None:
        """Forecast no more."""
        self._spawn = None
        for key in list(self._pending):
            self.forget(key)

    def forget(self, key: Key) -> None:
        """Drop the forecast of a cluster."""
        pending = self._pending.pop(key, None)
        if pending is not None:
            pending.task.cancel()

    def complete(self, key: Key, status: ClusterStatus) -> ClusterStatus:
        """Return a status with the duration of its change, if it is known meanwhile."""
        current = status.forecast
        return status if current is None else replace(status, forecast=self._completed(key, current))

    def wrote(self, key: Key, turn: Round, after: ClusterStatus, now: float) -> None:
        """Note a written status: a change may have begun in it, or ended."""
        before, current = turn.before.forecast, after.forecast
        if before is not None and current is None and is_ready(after):
            self._observe(self._completed(key, before), now)
        if current is None:
            self.forget(key)
        elif before is None or before.start_time != current.start_time:
            self._begin(key, turn, current.start_time, now)

    def _completed(self, key: Key, current: ForecastStatus) -> ForecastStatus:
        pending = self._pending.get(key)
        found = pending.outcome if pending is not None and pending.start == current.start_time else None
        if found is None or current.change:
            return current
        duration = None if found.seconds is None else max(1, round(found.seconds))
        return replace(current, change=found.change.value, duration_seconds=duration)

    def _observe(self, ended: ForecastStatus, now: float) -> None:
        began = parse_time(ended.start_time)
        if began is None or not ended.duration_seconds:
            return
        ratio = max(0.0, now - began) / ended.duration_seconds
        self._metrics.forecast_ratio.labels(self._family.kind.engine, ended.change).observe(ratio)

    def _begin(self, key: Key, turn: Round, start: str, now: float) -> None:
        self.forget(key)
        if self._spawn is None or self._compute is None:
            return
        if sum(pending.outcome is None for pending in self._pending.values()) >= MOST:
            _log.info("a change is not forecast: others are being forecast", cluster=str(key))
            return
        self._pending[key] = Pending(start, self._spawn(self._forecast(key, turn, now, self._compute)))

    async def _forecast(self, key: Key, turn: Round, now: float, compute: Compute) -> None:
        try:
            known = await recovery_speed(self._family.engine, self._family.target(turn.existing))
            history = await self._history(key)
            durations = measured_durations(times_of(turn.existing.pods, history), known)
            outcome = await compute(Begun(turn.observed, now, durations))
            self._pending[key].outcome = outcome
        except EngineError as error:
            _log.info("a change is not forecast", cluster=str(key), why=str(error))
            self._pending.pop(key, None)
        except Exception as error:  # noqa: BLE001 - a measurement that fails is no reason to end the operator
            _log.warning("a change is not forecast", cluster=str(key), error=f"{type(error).__name__}: {error}")
            self._pending.pop(key, None)


def is_ready(status: ClusterStatus) -> bool:
    """Return whether a cluster matches its spec."""
    return any(c.type == "Ready" and c.status == "True" for c in status.conditions)
