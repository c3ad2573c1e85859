"""Workers that take keys from a queue and reconcile them, so that one bad key costs only itself.

A reconciliation that fails is tried again after a growing delay; one that takes too long is cut off and counts as
failed, because a hanging database must not hold a worker that other clusters wait for.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic

import structlog

from stateward.kube.clock import Clock, SystemClock
from stateward.kube.errors import ApiError
from stateward.kube.observers import QueueObserver, Unobserved
from stateward.kube.queue import H, QueueClosed, WorkQueue

_log = structlog.get_logger(__name__)

Reconcile = Callable[[H], Awaitable[float | None]]
"""Brings one key closer to what is wanted; returns the seconds after which to look again (None: on the next event).

Raising means failure: the key comes back with backoff.
"""


class Workers(Generic[H]):
    """`count` workers on one queue; `limit` is how many seconds one reconciliation may take."""

    def __init__(
        self,
        queue: WorkQueue[H],
        reconcile: Reconcile[H],
        *,
        count: int = 4,
        limit: float = 300.0,
        clock: Clock | None = None,
        observer: QueueObserver | None = None,
    ) -> None:
        self._queue = queue
        self._reconcile = reconcile
        self._count = count
        self._limit = limit
        self._clock = clock or SystemClock()
        self._observer = observer or Unobserved()

    async def run(self) -> None:
        """Work until the queue is closed and what was begun is finished; cancelling cuts that off."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._count):
                group.create_task(self._work(), name=f"worker-{number}")

    async def stop(self, grace: float) -> bool:
        """Close the queue and give running work `grace` seconds; True when all of it was finished in time."""
        self._queue.close()
        try:
            async with self._clock.timeout(grace):
                await self._queue.wait_idle()
        except TimeoutError:
            return False
        return True

    async def _work(self) -> None:
        while True:
            try:
                key = await self._queue.get()
            except QueueClosed:
                return
            try:
                await self._once(key)
            finally:
                self._queue.done(key)

    async def _once(self, key: H) -> None:
        began = self._clock.monotonic()
        try:
            async with self._clock.timeout(self._limit):
                again = await self._reconcile(key)
        except Exception as error:  # noqa: BLE001 - whatever it is, other keys must go on
            delay = self._queue.add_failed(key)
            # What an API server says is a state of the world; a traceback is for what nobody expected.
            trace = None if isinstance(error, ApiError | TimeoutError) else error
            _log.warning("reconciliation failed", key=str(key), error=_words(error), retry_in=delay, exc_info=trace)
            self._observer.finished(self._clock.monotonic() - began, failed=True)
            return
        self._queue.forget(key)
        if again is not None:
            self._queue.add_after(key, again)
        self._observer.finished(self._clock.monotonic() - began, failed=False)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
