"""Leader election on a Lease: at most one process acts, also if clocks differ and connections fail.

The election trusts no wall clock. A candidate takes a lease over only after it has *observed* for the whole duration,
on its own monotonic clock, that the lease was not renewed; the same holds for one that was deleted. A leader counts its
time from *before* it sent the successful renewal, so its claim ends before any takeover; it gives up even earlier, at
the renew deadline.

An election alone does not stop a write in transit when the lease is lost. So all permanent writes happen within
`fence(margin)`: a block that neither begins nor continues unless the lease is certainly held for `margin` more seconds.
Its limit moves with each renewal: no call is too long while the lease is held.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog

from stateward.kube.client.client import Api, PatchKind
from stateward.kube.election.fence import LostLease
from stateward.kube.election.lease_record import LeaseTiming, Observed, claim, release
from stateward.kube.objects.errors import AlreadyExists, ApiError, Conflict, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.records import Lease, LeaseSpec
from stateward.kube.objects.resources import LEASES
from stateward.kube.timing.clock import Clock, SystemClock

_log = structlog.get_logger(__name__)

RELEASE_SECONDS = 2.0
"""Minimum time for the release of the lease: without a release, a successor waits for the whole duration."""


class LeaderElection:
    """Campaigns for one lease; run `run` in a task. `identity` must differ between processes."""

    def __init__(  # noqa: PLR0913 - the last four are for few callers, and by name
        self,
        api: Api,
        key: Key,
        identity: str,
        *,
        timing: LeaseTiming | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        led_before: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prepare the campaign; `led_before` tells whether there are signs that another process has led before."""
        self._api = api
        self._key = key
        self._identity = identity
        self._timing = timing or LeaseTiming()
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, hides nothing
        self._led_before = led_before
        self._observed: Observed | None = None
        self._missed_at: float | None = None
        self._renewed_at: float | None = None
        self._elected = asyncio.Event()
        self._fenced: dict[asyncio.Timeout, float] = {}
        self._writes_ended_at = 0.0

    @property
    def holder(self) -> str:
        """The last observed holder of the lease; empty if there was none."""
        return (self._observed.lease.spec.holder_identity or "") if self._observed else ""

    @property
    def remaining(self) -> float:
        """Seconds for which the lease is certainly held; 0 if it is not."""
        if self._renewed_at is None:
            return 0.0
        return max(0.0, self._renewed_at + self._timing.duration - self._clock.monotonic())

    def is_leader(self, at_least: float = 0.0) -> bool:
        """Whether this process leads, and will for `at_least` more seconds under any network failure."""
        return self.remaining > at_least

    @asynccontextmanager
    async def fence(self, margin: float) -> AsyncGenerator[None]:
        """Open a block that is cut off `margin` seconds before the end of the lease; raise LostLease.

        Within the margin, everything sent before the cut must be executed or dropped.
        """
        if not self.is_leader(margin):
            raise LostLease("the lease may have been lost")
        limit = self._clock.timeout(self.remaining - margin)
        try:
            async with limit:
                self._fenced[limit] = margin
                yield
        except (asyncio.CancelledError, TimeoutError, ApiError) as error:
            if not isinstance(error, ApiError) or error.may_have_committed:
                # The server may still carry out what was sent.
                self._writes_ended_at = max(self._writes_ended_at, self._clock.monotonic() + margin)
            if not isinstance(error, TimeoutError) or not limit.expired():
                raise
            raise LostLease("the lease was not renewed during a write; the write is abandoned") from error
        finally:
            self._fenced.pop(limit, None)

    async def wait_elected(self) -> None:
        """Wait until this process leads."""
        await self._elected.wait()

    async def run(self, on_lost: Callable[[], None]) -> None:
        """Campaign until elected, then renew until the lease is lost; call `on_lost` (which must not block) and return.

        Cancelling releases the lease, so that a successor need not wait for its end: stop all work first. If a fenced
        block is open, or was broken off within its margin, the lease ends by itself.
        """
        try:
            await self._acquire()
            _log.info("leading", lease=str(self._key), identity=self._identity)
            self._elected.set()
            await self._renew_until_lost()
        except asyncio.CancelledError:
            await self._release()
            raise
        finally:
            self._resign()
        # A lost lease is not released: work that relied on its remaining time may still be in progress.
        _log.error("lost the lease", lease=str(self._key), identity=self._identity, holder=self.holder)
        on_lost()

    async def _acquire(self) -> None:
        while not await self._attempt():
            # Jitter, so that candidates that see a lease end do not all send requests at the same time.
            await self._clock.sleep(self._timing.retry * (1.0 + 0.2 * self._rng.random()))

    async def _renew_until_lost(self) -> None:
        while self._renewed_at is not None:
            deadline = self._renewed_at + self._timing.renew_deadline
            await self._clock.sleep(self._timing.retry)
            if not await self._renew_before(deadline):
                return

    async def _renew_before(self, deadline: float) -> bool:
        try:
            async with self._clock.timeout(max(0.0, deadline - self._clock.monotonic())):
                while not await self._attempt():
                    if self.holder != self._identity:
                        return False
                    await self._clock.sleep(self._timing.retry)
        except TimeoutError:
            return False
        return True

    async def _attempt(self) -> bool:
        """Try once to take or renew the lease."""
        try:
            return await self._try()
        except (Conflict, AlreadyExists):
            return False  # Another process was faster; the next read shows which.
        except ApiError as error:
            _log.warning("cannot reach the lease", lease=str(self._key), error=f"{type(error).__name__}: {error}")
            return False

    async def _try(self) -> bool:
        try:
            lease = await self._api.get(LEASES, self._key)
        except NotFound:
            return not self._may_be_held(self._clock.monotonic()) and await self._write(None)
        now = self._clock.monotonic()
        self._observed = self._observed.seen(lease, now) if self._observed else Observed(lease, now)
        ours = lease.spec.holder_identity == self._identity
        if not ours and not self._expired(self._observed, now):
            return False
        return await self._write(lease)

    def _expired(self, observed: Observed, now: float) -> bool:
        return observed.expired(now, self._timing.duration)

    def _may_be_held(self, now: float) -> bool:
        """Whether another process may still count on a lease that is gone: a user has deleted it, and not its claim.

        A process that has never seen the lease does not know the holder, and waits as long as one may count on it.
        """
        seen = self._observed
        if seen is None:
            self._missed_at = now if self._missed_at is None else self._missed_at
            return now < self._missed_at + self._timing.duration and self._led_before()
        return seen.lease.spec.holder_identity != self._identity and not self._expired(seen, now)

    async def _write(self, lease: Lease | None) -> bool:
        before = self._clock.monotonic()
        spec = claim(lease.spec if lease else LeaseSpec(), self._identity, self._timing, self._clock.now())
        if lease is None:
            meta = {"name": self._key.name, "namespace": self._key.namespace}
            body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": meta, "spec": spec}
            written = await self._api.create(LEASES, body, namespace=self._key.namespace)
        else:
            written = await self._patch(lease, spec)
        self._observed = Observed(written, before)
        self._renewed_at = before
        self._move_limits()
        return True

    async def _patch(self, lease: Lease, spec: dict[str, Any]) -> Lease:
        # The version makes it a compare-and-swap: of two candidates only one succeeds.
        pinned = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        return await self._api.patch(LEASES, self._key, pinned, kind=PatchKind.MERGE)

    def _resign(self) -> None:
        self._renewed_at = None
        self._elected.clear()
        self._move_limits()

    def _move_limits(self) -> None:
        """Extend the fenced blocks until the lease is no longer certainly held for their margin, which may be now."""
        for limit, margin in self._fenced.items():
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time() + self.remaining - margin)

    async def _release(self) -> None:
        held, abandoned = self.is_leader(), bool(self._fenced) or self._clock.monotonic() < self._writes_ended_at
        self._resign()
        if not held or self._observed is None:
            return
        if abandoned:
            _log.info("the lease is not released: the server may still carry out a write", lease=str(self._key))
            return
        try:
            async with self._clock.timeout(max(self._timing.retry, RELEASE_SECONDS)):
                lease = self._observed.lease
                while not await self._given_back(lease):
                    lease = await self._api.get(LEASES, self._key)
        except (ApiError, TimeoutError) as error:
            _log.warning("could not release the lease", lease=str(self._key), error=f"{type(error).__name__}: {error}")

    async def _given_back(self, lease: Lease) -> bool:
        """Release the lease as it was read; return False if it has changed since, as by an interrupted renewal."""
        if lease.spec.holder_identity != self._identity:
            return True
        try:
            await self._patch(lease, release(self._clock.now()))
        except Conflict:
            return False
        return True
