"""Limits on the size of answers per observation, and on how many clusters with large answers are read in parallel.

Without them, one cluster with far too large answers, by malice or malfunction, could exhaust the memory of the process
for all clusters or block its other reads. Each observation has its own room, and every answer takes some of it. Answers
above the usual size wait for a place. A cluster is set apart if its last large observation failed or kept its place for
long: such clusters share one place, so that healthy clusters never wait for them.
"""

import asyncio
from collections import OrderedDict
from types import TracebackType
from typing import Self

from stateward.engines.connection.base import UnreachableError

LOOK = 32 << 20
"""Limit in bytes of all answers of one observation.

With the driver's `filter_path`, the answers of a cluster of 10,000 shards with 100 nodes and the names of data streams
take 8.4 MiB with one replica, 12 MiB with two, and 18 MiB while every replica reports at length why it could not be
recovered (`python -m bench answers`). 35,000 shards with a replica each fit in.
"""
USUAL = 1 << 20
"""Bytes up to which an observation needs no place and is decoded on the event loop.

This holds 1,200 shards with a replica, decoded in 40 ms. The most expensive forged answer of this size takes 80 ms and
30 MiB of memory.
"""
PLACES = 2
"""Parallel observations with large answers, of clusters with a successful last one; all others share one more place."""
PATIENCE = 10.0
"""Seconds that an observation waits for a place."""
SLOW = 5.0
"""Seconds that an observation may keep a place and still count as successful: the largest takes 1.4 s."""
_MOST = 1024
"""Limit of clusters remembered as failed or slow; the oldest are forgotten first."""


class Rooms:
    """The places for large answers, shared by all clusters of one process."""

    def __init__(
        self,
        look: int = LOOK,
        places: int = PLACES,
        patience: float = PATIENCE,
        slow: float = SLOW,
        *,
        usual: int = USUAL,
    ) -> None:
        self.largest = look
        self.usual = usual
        self.patience = patience
        self.slow = slow
        self._places = asyncio.Semaphore(places)
        self._last = asyncio.Semaphore(1)
        self._ill: OrderedDict[str, None] = OrderedDict()

    def look(self, cluster: str) -> "ObservationRoom":
        """Return the room for one observation of a cluster; `cluster` must be unique among all clusters."""
        return ObservationRoom(self, cluster)

    def place(self, cluster: str) -> asyncio.Semaphore:
        """Return the places that a cluster may use."""
        return self._last if cluster in self._ill else self._places

    def learned(self, cluster: str, *, ill: bool) -> None:
        """Remember how a large observation ended; `ill` means failed or slow."""
        self._ill.pop(cluster, None)
        if ill:
            self._ill[cluster] = None
            while len(self._ill) > _MOST:
                self._ill.popitem(last=False)


class ObservationRoom:
    """The room for all answers of one observation; a context manager that releases the place."""

    def __init__(self, rooms: Rooms, cluster: str) -> None:
        self._rooms = rooms
        self._cluster = cluster
        self._taken = 0
        self._place: asyncio.Semaphore | None = None
        self._since = 0.0

    @property
    def largest(self) -> int:
        """Limit in bytes of the whole observation."""
        return self._rooms.largest

    @property
    def left(self) -> int:
        """Bytes that are left."""
        return self._rooms.largest - self._taken

    async def take(self, size: int) -> None:
        """Take a number of bytes; above the usual size, wait for a place first.

        Raise UnreachableError if none becomes free.
        """
        self._taken += size
        if self._taken <= self._rooms.usual or self._place is not None:
            return
        place = self._rooms.place(self._cluster)
        try:
            async with asyncio.timeout(self._rooms.patience):
                await place.acquire()
        except TimeoutError as error:
            raise UnreachableError(
                f"the operator was reading large answers of other clusters for {self._rooms.patience:.0f} s;"
                " the operator reads this cluster's answer in the next reconciliation"
            ) from error
        self._place = place
        self._since = asyncio.get_running_loop().time()

    async def __aenter__(self) -> Self:
        """Enter the context."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Release the place, and remember whether the observation succeeded in time."""
        if self._place is not None:
            self._place.release()
            self._place = None
            slow = asyncio.get_running_loop().time() - self._since > self._rooms.slow
            self._rooms.learned(self._cluster, ill=slow or kind is not None)


def mib(size: int) -> str:
    """Return a size in bytes as readable text."""
    return f"{size / (1 << 20):.1f} MiB"
