"""How the page in the operator reads databases: by the operator's own connections, shared by all viewers, and bounded.

The operator's own work comes first. So an answer is kept for some seconds, a database is asked once for all its
viewers, few are asked at once, and each question has an end. What was not answered is not known.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from stateward.api.kinds.cluster import Cluster
from stateward.engines.connection.base import Speed
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.operator.objects.kinds import kind_of
from stateward.planning.model.database import Database, Unknown

KEPT_SECONDS = 5.0
"""A look, a plan and an explanation at about the same time are one question."""
AT_ONCE = 4
"""Questions at the same time, about all databases."""
PATIENCE = 15.0
"""Seconds for an answer, with the wait for other questions; the database itself has ten."""
NOT_HERE = "this process of the operator does not know the cluster yet, or another operator manages it"
LATE = f"no answer within {PATIENCE:.0f} s, with the wait for other databases"

T = TypeVar("T")
Place = tuple[str, Key]
"""A cluster, by the plural of its kind."""


class Databases(Protocol):
    """The operator, as far as it reads databases."""

    async def report(self, plural: str, key: Key) -> Database | Unknown | None:
        """Return what a cluster's database reports, by the plural of its kind; None if it is not known here."""
        ...

    async def speed(self, plural: str, key: Key) -> Speed:
        """Return how fast a cluster's database recovers copies; unknown values if that cannot be read."""
        ...


@dataclass(slots=True)
class _Answer(Generic[T]):
    """One answer, and until when it counts; who wants it while it is asked for waits for the lock."""

    value: T | None = None
    until: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class _Answers(Generic[T]):
    """The answers to one kind of question, by cluster."""

    def __init__(self, clock: Clock, slots: asyncio.Semaphore) -> None:
        self._clock, self._slots = clock, slots
        self._known: dict[Place, _Answer[T]] = {}

    async def get(self, place: Place, ask: Callable[[], Awaitable[T]]) -> T:
        """Return the kept answer, or ask; raise TimeoutError."""
        self._drop_old()
        answer = self._known.setdefault(place, _Answer())
        answer.waiting += 1
        try:
            async with asyncio.timeout(PATIENCE), answer.lock:
                if answer.value is not None and self._clock.monotonic() < answer.until:
                    return answer.value
                async with self._slots:
                    answer.value = await ask()
                answer.until = self._clock.monotonic() + KEPT_SECONDS
                return answer.value
        finally:
            answer.waiting -= 1

    def _drop_old(self) -> None:
        """Forget what no longer counts: the shards of a large cluster take megabytes."""
        now = self._clock.monotonic()
        self._known = {place: each for place, each in self._known.items() if each.waiting or now < each.until}


class OperatorReads:
    """Reads databases for the viewers of the operator's page."""

    def __init__(self, databases: Databases, clock: Clock) -> None:
        slots = asyncio.Semaphore(AT_ONCE)
        self._databases = databases
        self._reports = _Answers[Database | Unknown](clock, slots)
        self._speeds = _Answers[Speed](clock, slots)

    async def report(self, cluster: Cluster) -> Database | Unknown:
        """Return what the cluster's database reports, or why that is not known."""
        plural, key = place = place_of(cluster)

        async def ask() -> Database | Unknown:
            return await self._databases.report(plural, key) or Unknown(NOT_HERE)

        try:
            return await self._reports.get(place, ask)
        except TimeoutError:
            return Unknown(LATE)

    async def speed(self, cluster: Cluster) -> Speed:
        """Return how fast the database recovers copies; unknown values if it does not answer."""
        plural, key = place = place_of(cluster)
        try:
            return await self._speeds.get(place, lambda: self._databases.speed(plural, key))
        except TimeoutError:
            return Speed()


def place_of(cluster: Cluster) -> Place:
    """Return the place of a cluster."""
    return kind_of(cluster).resource.plural, Key(cluster.metadata.namespace, cluster.metadata.name)
