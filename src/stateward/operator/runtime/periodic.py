"""One piece of work over all objects of a kind, after each event, and at least once a minute."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from stateward.kube.objects.errors import ApiError
from stateward.kube.queue.workers import TOLD
from stateward.kube.timing.clock import Clock
from stateward.operator.runtime.failing import Failing

_log = structlog.get_logger(__name__)

TOGETHER = 2.0
"""Seconds within which changes are taken up together."""
AGAIN = 60.0
"""Seconds after which the work runs again without an event."""


class Periodic:
    """Repeats `work`; failures are reported under `name`, a short description of the work."""

    def __init__(self, name: str, work: Callable[[], Awaitable[None]], clock: Clock, failing: Failing[str]) -> None:
        self._name = name
        self._work = work
        self._clock = clock
        self._failing = failing
        self._heard = asyncio.Event()
        self._stopped = asyncio.Event()

    def hear(self, _: object = None) -> None:
        """Have the work done soon: something has changed."""
        self._heard.set()

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped.set()
        self._heard.set()

    async def run(self) -> None:
        """Work until cancelled, or until `stop`."""
        failures = 0
        while not self._stopped.is_set():
            # Before the work: it may have passed by what changes meanwhile, which is taken up right after it.
            self._heard.clear()
            try:
                await self._work()
                failures = await self._recovered(failures)
            except Exception as error:  # noqa: BLE001 - clusters are looked after whatever this is
                failures += 1
                trace = None if isinstance(error, ApiError) else error
                words = f"{type(error).__name__}: {error}"
                _log.warning("a comparison failed", of=self._name, error=words, exc_info=trace)
                await self._tell(failures, error)
            await self._pause()

    async def _pause(self) -> None:
        """Wait for the next event or the next minute, but not after `stop`."""
        if self._stopped.is_set():
            return
        with suppress(TimeoutError):
            async with self._clock.timeout(TOGETHER):
                await self._stopped.wait()
        with suppress(TimeoutError):
            async with self._clock.timeout(AGAIN):
                await self._heard.wait()

    async def _recovered(self, failures: int) -> int:
        await self._tell(failures, None)
        return 0

    async def _tell(self, failures: int, error: Exception | None) -> None:
        """Report a failure, or (without an error) a recovery; one that cannot be reported is only logged."""
        if failures < TOLD:
            return
        told = self._failing
        try:
            await (told.recovered(self._name) if error is None else told.failed(self._name, failures, error))
        except Exception as trouble:  # noqa: BLE001 - the disaster this prevents: the operator ends with its clusters
            _log.warning("the failure could not be reported", of=self._name, exc_info=trouble)
