"""How much one look at a database may answer, and how many clusters with large answers are read at the same time.

The disaster this prevents: one cluster answers with far too much, by malice or because it is ill, and the process that
looks after all clusters runs out of memory or reads nothing else. Each look has its own room, whatever it is answered
takes some of it, and what is more than usual waits for a place. A cluster whose last large look came to nothing or
kept its place for long shares one place with its like, so that those that are well never wait for it.
"""

import asyncio
from collections import OrderedDict
from types import TracebackType
from typing import Self

from stateward.engines.connection.base import UnreachableError

LOOK = 32 << 20
"""Bytes that one look may be answered in all.

As the driver asks for them (`filter_path`), the answers of a cluster of 10,000 shards with 100 nodes and the names of
data streams take 8.4 MiB with one replica, 12 MiB with two, and 18 MiB while every replica tells at length why it could
not be recovered (`python -m bench answers`). 35,000 shards with a replica each fit in.
"""
USUAL = 1 << 20
"""Bytes up to which a look needs no place and is read on the event loop: 1,200 shards with a replica, read in 40 ms.

The most expensive answer of this size that could be made up takes 80 ms and 30 MiB of memory.
"""
PLACES = 2
"""Looks with large answers at the same time, of clusters whose last one succeeded; one more of all others together."""
PATIENCE = 10.0
"""Seconds that a look waits for a place."""
SLOW = 5.0
"""Seconds that a look may keep a place and count as one that succeeded: the largest takes 1.4 s."""
_MOST = 1024
"""Clusters whose last large look is remembered to have failed or been slow; the first ones are forgotten first."""


class Rooms:
    """The places, shared by all clusters of one process."""

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

    def look(self, cluster: str) -> "LookRoom":
        """Return the room for one look at a cluster, by a name that it has among all clusters."""
        return LookRoom(self, cluster)

    def place(self, cluster: str) -> asyncio.Semaphore:
        """Return the places that a cluster may have."""
        return self._last if cluster in self._ill else self._places

    def learned(self, cluster: str, *, ill: bool) -> None:
        """Remember how a large look ended: `ill` is one that failed or was slow."""
        self._ill.pop(cluster, None)
        if ill:
            self._ill[cluster] = None
            while len(self._ill) > _MOST:
                self._ill.popitem(last=False)


class LookRoom:
    """Room for all answers of one look; a block that it opens gives the place back."""

    def __init__(self, rooms: Rooms, cluster: str) -> None:
        self._rooms = rooms
        self._cluster = cluster
        self._taken = 0
        self._place: asyncio.Semaphore | None = None
        self._since = 0.0

    @property
    def largest(self) -> int:
        """Bytes that the whole look may be answered."""
        return self._rooms.largest

    @property
    def left(self) -> int:
        """Bytes that may still be answered."""
        return self._rooms.largest - self._taken

    async def take(self, size: int) -> None:
        """Take so many bytes; beyond the usual, wait for a place first. Raises UnreachableError where none comes."""
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
        """Open the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Give the place back, and remember whether what it was taken for succeeded in time."""
        if self._place is not None:
            self._place.release()
            self._place = None
            slow = asyncio.get_running_loop().time() - self._since > self._rooms.slow
            self._rooms.learned(self._cluster, ill=slow or kind is not None)


def mib(size: int) -> str:
    """Return a size in bytes as a person reads it."""
    return f"{size / (1 << 20):.1f} MiB"
