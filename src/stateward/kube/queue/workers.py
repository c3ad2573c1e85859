"""Workers that take keys from a queue and reconcile them, so that one failing key affects only itself.

A failed reconciliation is retried after a growing delay. A reconciliation that takes too long is cut off and counts as
failed, because a hanging database must not occupy a worker that other clusters wait for. From the second consecutive
failure on, a listener is notified, so that failures are visible outside the log; it is also notified of the recovery.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

import structlog

from stateward.kube.objects.errors import ApiError
from stateward.kube.queue.queue import H, QueueClosed, WorkQueue
from stateward.kube.timing.clock import Clock, SystemClock
from stateward.kube.timing.observers import QueueObserver, Unobserved

_log = structlog.get_logger(__name__)

Reconcile = Callable[[H], Awaitable[float | None]]
"""Reconciles one key; returns the seconds until the next reconciliation (None: on the next event).

An exception means failure: the key comes back with backoff.
"""

TOLD = 2
"""Consecutive failures from which on the listener is notified; a single failure is usually transient."""
PATIENCE = 30.0
"""Seconds for one notification."""
K_contra = TypeVar("K_contra", contravariant=True)


class FailureListener(Protocol[K_contra]):
    """Receives keys that fail repeatedly. Its own exceptions are logged and ignored."""

    async def failed(self, key: K_contra, failures: int, error: Exception) -> None:
        """Handle the second consecutive failure of a key, and each later one."""
        ...

    async def recovered(self, key: K_contra) -> None:
        """Handle the first success of a key after notified failures."""
        ...


LONGEST_ROUND = 300.0
"""Seconds after which one reconciliation is cancelled, if nothing else is said."""


class Workers(Generic[H]):
    """`count` workers on one queue; `limit` is the maximum of seconds for one reconciliation."""

    def __init__(
        self,
        queue: WorkQueue[H],
        reconcile: Reconcile[H],
        *,
        count: int = 4,
        limit: float = LONGEST_ROUND,
        clock: Clock | None = None,
        observer: QueueObserver | None = None,
    ) -> None:
        self._queue = queue
        self._reconcile = reconcile
        self._count = count
        self._limit = limit
        self._clock = clock or SystemClock()
        self._observer = observer or Unobserved()
        self._listener: FailureListener[H] | None = None

    def tell(self, listener: FailureListener[H]) -> None:
        """Set the listener for keys that fail repeatedly."""
        self._listener = listener

    async def run(self) -> None:
        """Work until the queue is closed and started work is finished; cancelling interrupts it."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._count):
                group.create_task(self._work(), name=f"worker-{number}")

    async def stop(self, grace: float) -> bool:
        """Close the queue and give running work `grace` seconds; return True if all of it finished in time."""
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
            # A message of an API server is an expected state; a traceback is for unexpected errors.
            trace = None if isinstance(error, ApiError | TimeoutError) else error
            _log.warning("reconciliation failed", key=str(key), error=_words(error), retry_in=delay, exc_info=trace)
            self._observer.finished(self._clock.monotonic() - began, failed=True)
            await self._tell(key, self._queue.failures(key), error)
            return
        failures = self._queue.failures(key)
        self._queue.forget(key)
        if again is not None:
            self._queue.add_after(key, again)
        self._observer.finished(self._clock.monotonic() - began, failed=False)
        await self._tell(key, failures, None)

    async def _tell(self, key: H, failures: int, error: Exception | None) -> None:
        """Notify the listener of a failure, or (without an error) of a recovery; only log a failed notification."""
        if self._listener is None or failures < TOLD:
            return
        try:
            async with self._clock.timeout(PATIENCE):
                await (self._listener.recovered(key) if error is None else self._listener.failed(key, failures, error))
        except Exception as trouble:  # noqa: BLE001 - whatever it is, the key is tried again all the same
            _log.warning("the failure could not be reported", key=str(key), error=_words(trouble))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
