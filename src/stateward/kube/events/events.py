"""Kubernetes Events, which `kubectl describe` and `kubectl get events` show for an object.

Recording never waits and never fails. A separate task writes events; a repeated event becomes a count in a series
instead of another object; an object with too many new events is throttled. Dropped events are counted.
"""

import random
from collections import OrderedDict
from dataclasses import dataclass

import structlog

from stateward.kube.client.client import Api, PatchKind
from stateward.kube.events.event_record import Occurrence, Series, manifest, name_of, tally
from stateward.kube.objects.errors import (
    AlreadyExists,
    ApiError,
    NotFound,
    ServerTimeout,
    TooManyRequests,
    TransportError,
    Unavailable,
)
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import EVENTS
from stateward.kube.queue.queue import QueueClosed, WorkQueue
from stateward.kube.timing.clock import Clock, SystemClock
from stateward.kube.timing.rate import TokenBuckets

_log = structlog.get_logger(__name__)
_TRIES = 4


@dataclass(frozen=True, slots=True)
class EventLimits:
    """`window` and `repeat` in seconds: how long a repetition joins its series, and how often a series is written.

    An object may produce `burst` different events at once and then one more every `refill` seconds. At most `series`
    series are kept.
    """

    window: float = 600.0
    repeat: float = 30.0
    burst: int = 25
    refill: float = 60.0
    series: int = 2_000


class EventRecorder:
    """Records events as `controller`; run `run` in a task, and `close` it to stop."""

    def __init__(
        self,
        api: Api,
        controller: str,
        instance: str,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        limits: EventLimits | None = None,
    ) -> None:
        self.dropped = 0
        self._api = api
        self._reporter = {"reportingController": controller, "reportingInstance": instance[:128]}
        self._clock = clock or SystemClock()
        self._limits = limits or EventLimits()
        self._queue = WorkQueue[Occurrence](clock=self._clock, rng=rng)
        self._series: OrderedDict[Occurrence, Series] = OrderedDict()
        self._buckets = TokenBuckets(self._clock, self._limits.burst, self._limits.refill)

    def record(self, occurrence: Occurrence) -> None:
        """Record an occurrence; return at once."""
        now = self._clock.monotonic()
        series = self._series.get(occurrence)
        if series is not None and now - series.heard_at < self._limits.window:
            series.count += 1
            series.last, series.heard_at = self._clock.now(), now
            self._series.move_to_end(occurrence)
        elif not self._begin(occurrence, now):
            return
        series = self._series[occurrence]
        self._queue.add_after(occurrence, series.written_at + self._limits.repeat - now)

    async def run(self) -> None:
        """Write recorded events until closed."""
        while True:
            try:
                occurrence = await self._queue.get()
            except QueueClosed:
                return
            try:
                await self._write(occurrence)
            finally:
                self._queue.done(occurrence)

    async def close(self, grace: float = 2.0) -> None:
        """Write pending events for at most `grace` seconds, and stop."""
        try:
            async with self._clock.timeout(grace):
                while len(self._queue) or self._queue.processing:
                    await self._clock.sleep(0.05)
        except TimeoutError:
            self._drop(len(self._queue), "the server did not take them in time")
        self._queue.close()

    def _begin(self, occurrence: Occurrence, now: float) -> bool:
        if not self._buckets.take(occurrence.regarding.uid):
            self._drop(1, f"too many for {occurrence.regarding.kind} {occurrence.regarding.name}")
            return False
        moment = self._clock.now()
        self._series[occurrence] = Series(moment, moment, now)
        self._series.move_to_end(occurrence)
        if len(self._series) > self._limits.series:
            _, oldest = self._series.popitem(last=False)
            if oldest.written < oldest.count:
                self._drop(oldest.count - oldest.written, "too many different ones")
        return True

    async def _write(self, occurrence: Occurrence) -> None:
        series = self._series.get(occurrence)
        if series is None or series.written == series.count:
            return
        count = series.count
        try:
            await self._send(occurrence, series, count)
        except ApiError as error:
            self._failed(occurrence, error)
            return
        series.written, series.written_at = count, self._clock.monotonic()
        self._queue.forget(occurrence)

    async def _send(self, occurrence: Occurrence, series: Series, count: int) -> None:
        key = Key(occurrence.regarding.namespace or "default", name_of(occurrence, series.first))
        if series.written:
            try:
                await self._api.patch(EVENTS, key, {"series": tally(series, count)}, kind=PatchKind.MERGE)
            except NotFound:
                pass  # The server deletes events after an hour: the series starts again.
            else:
                return
        body = manifest(occurrence, series, key) | self._reporter
        if count > 1:
            body["series"] = tally(series, count)
        try:
            await self._api.create(EVENTS, body, namespace=key.namespace)
        except AlreadyExists:
            return  # The answer to an earlier attempt was lost.

    def _failed(self, occurrence: Occurrence, error: ApiError) -> None:
        passing = isinstance(error, TransportError | Unavailable | ServerTimeout | TooManyRequests)
        if passing and self._queue.failures(occurrence) < _TRIES:
            self._queue.add_failed(occurrence)
            return
        self._queue.forget(occurrence)
        self._series.pop(occurrence, None)
        self._drop(1, f"{type(error).__name__}: {error}")

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        _log.warning("events dropped", count=count, why=why, total=self.dropped)
