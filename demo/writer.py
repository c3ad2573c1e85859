"""A writer with a bounded rate, number and time: writes documents with ids, and reads earlier ones back as it goes."""

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from demo.database import NotAcknowledgedError
from demo.ledger import Ledger
from stateward.kube.timing.clock import Clock, SystemClock


class Store(Protocol):
    """Where documents go; both raise `NotAcknowledgedError`."""

    async def put(self, identity: str, document: dict[str, Any]) -> None:
        """Write one document; return only when it is acknowledged."""
        ...

    async def find(self, identities: list[str]) -> set[str]:
        """Return those of the documents that are there."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """How hard, how much and how long; times in seconds.

    A single write gets `patience`; after every `reading`th one, earlier documents are read back.
    """

    per_second: float = 20.0
    most: int = 50_000
    seconds: float = 2_400.0
    patience: float = 10.0
    reading: int = 20


class Writer:
    """Writes to a store within bounds and keeps the ledger."""

    def __init__(
        self, store: Store, bounds: Bounds | None = None, *, prefix: str = "d", clock: Clock | None = None
    ) -> None:
        self.ledger = Ledger()
        self._store = store
        self._bounds = bounds or Bounds()
        self._prefix = prefix
        self._clock = clock or SystemClock()

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[Ledger]:
        """Write while the block runs, or until a bound is reached."""
        task = asyncio.create_task(self.run())
        try:
            yield self.ledger
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self.ledger.close(self._clock.monotonic())

    async def run(self) -> None:
        """Write until a bound is reached."""
        begin = self._clock.monotonic()
        self.ledger.begin(begin)
        for number in range(self._bounds.most):
            started = self._clock.monotonic()
            if started - begin > self._bounds.seconds:
                return
            await self._write(number)
            if number % self._bounds.reading == 0:
                await self._read()
            # Time lost in a slow write is not made up for: the rate is a limit, not a promise.
            took = self._clock.monotonic() - started
            await self._clock.sleep(max(0.0, 1 / self._bounds.per_second - took))

    async def _write(self, number: int) -> None:
        identity = f"{self._prefix}{number}"
        try:
            async with self._clock.timeout(self._bounds.patience):
                await self._store.put(identity, {"number": number})
        except NotAcknowledgedError as error:
            self.ledger.refuse(str(error))
        except TimeoutError:
            self.ledger.refuse(f"no answer within {self._bounds.patience:.0f} s")
        else:
            self.ledger.acknowledge(identity, self._clock.monotonic())

    async def _read(self) -> None:
        """Read some of what was acknowledged; an error says nothing, an answer without the document does."""
        wanted = list(itertools.islice(self.ledger.acknowledged, 5))
        with suppress(NotAcknowledgedError, TimeoutError):
            async with self._clock.timeout(self._bounds.patience):
                self.ledger.unread += len(set(wanted) - await self._store.find(wanted))


async def missing(store: Store, ledger: Ledger, *, batch: int = 500, clock: Clock | None = None) -> set[str]:
    """Return the acknowledged documents that the store does not have; asks for every one by its id.

    A store that is busy is asked again for a minute; raises NotAcknowledgedError after that.
    """
    clock = clock or SystemClock()
    wanted = sorted(ledger.acknowledged)
    lost: set[str] = set()
    for start in range(0, len(wanted), batch):
        part = wanted[start : start + batch]
        lost |= set(part) - await _patiently(store, part, clock)
    return lost


async def _patiently(store: Store, identities: list[str], clock: Clock) -> set[str]:
    deadline = clock.monotonic() + 60
    while True:
        try:
            return await store.find(identities)
        except NotAcknowledgedError:
            if clock.monotonic() > deadline:
                raise
            await clock.sleep(1)
