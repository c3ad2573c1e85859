"""Witnesses of a change: a writer that knows what was acknowledged, and a watch on the promises, second by second."""

import asyncio
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from stateward.kube.objects.errors import ApiError, TransportError
from tests.e2e.clusters import Clusters, Database
from tests.support.case_report import Figures

FIGURES = Figures()
"""The observations of the witnesses of the current case."""
MOST_WRITES = 20_000
"""A writer ends by itself."""


async def over(done: asyncio.Event, seconds: float) -> bool:
    """Wait for the end, for so many seconds at most; a witness that is cancelled could leave a connection open."""
    with suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), seconds)
    return done.is_set()


@dataclass
class AcknowledgedWrites(ABC):
    """Writes one thing after the other, and remembers those that the database acknowledged."""

    subject: str
    """What is written to: an index, or a cluster."""
    pause: float
    acknowledged: set[str] = field(default_factory=set[str], kw_only=True)
    failures: int = field(default=0, kw_only=True)
    longest_gap: float = field(default=0.0, kw_only=True)
    _task: asyncio.Task[None] | None = field(default=None, kw_only=True)
    _done: asyncio.Event = field(default_factory=asyncio.Event, kw_only=True)

    @abstractmethod
    async def write(self, number: int) -> str:
        """Write one thing; returns its name if the database acknowledged it, else an empty text."""

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._done.set()
        if self._task is not None:
            await self._task
        FIGURES.written(self.subject, len(self.acknowledged), self.longest_gap)

    async def _run(self) -> None:
        last = time.monotonic()
        for number in range(MOST_WRITES):
            if identity := await self.write(number):
                self.acknowledged.add(identity)
                now = time.monotonic()
                self.longest_gap, last = max(self.longest_gap, now - last), now
            else:
                self.failures += 1
            if await over(self._done, self.pause):
                return


class Writer(AcknowledgedWrites):
    """Indexes documents with ids."""

    def __init__(self, database: Database, index: str, pause: float = 0.05) -> None:
        super().__init__(index, pause)
        self.database = database
        self.index = index

    async def write(self, number: int) -> str:
        identity = f"d{number}"
        try:
            await self.database.ask(f"{self.index}/_doc/{identity}", "PUT", {"number": number})
        except ApiError:
            return ""
        return identity

    async def missing(self) -> set[str]:
        """Return the acknowledged documents that the database does not have; asks for each by its id."""
        wanted = sorted(self.acknowledged)
        found: set[str] = set()
        for start in range(0, len(wanted), 500):
            answer = await self._read(wanted[start : start + 500])
            found |= {doc["_id"] for doc in answer["docs"] if doc.get("found")}
        FIGURES.read(self.index, len(self.acknowledged & found))
        return self.acknowledged - found

    async def _read(self, ids: list[str]) -> dict[str, Any]:
        """Return what the database has of documents; a connection of the proxy that breaks off proves nothing."""
        for _ in range(2):
            with suppress(TransportError):
                return await self.database.ask(f"{self.index}/_mget?_source=false", "POST", {"ids": ids})
        return await self.database.ask(f"{self.index}/_mget?_source=false", "POST", {"ids": ids})


@dataclass
class Promises:
    """Checks the promises once a second, and records each violation."""

    clusters: Clusters
    name: str
    most_down: int = 1
    broken: list[str] = field(default_factory=list[str])
    seen_health: set[str] = field(default_factory=set[str])
    seen_versions: set[str] = field(default_factory=set[str])
    looks: int = 0
    database: Database | None = None
    """The database, if it is not the unsecured one behind the cluster's Service."""
    red: int = 0
    """Number of checks, and so of seconds, with a red database."""
    _task: asyncio.Task[None] | None = None
    _done: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._done.set()
        if self._task is not None:
            await self._task
        FIGURES.watched(self.red)

    async def _run(self) -> None:
        while not await over(self._done, 1):
            with suppress(ApiError, KeyError):
                await self._look()

    async def _look(self) -> None:
        pods = await self.clusters.pods(self.name)
        wanted = (await self.clusters.get(self.name)).status.members.desired
        ready = [name for name, pod in pods.items() if pod.ready]
        if wanted - len(ready) > self.most_down:
            self.broken.append(f"{wanted - len(ready)} of {wanted} members are down; ready: {sorted(ready)}")
        health: dict[str, Any] = await (self.database or self.clusters.database(self.name)).health()
        self.looks += 1
        self.seen_health.add(health["status"])
        if health["status"] == "red":
            self.red += 1
            self.broken.append(f"health is red: {health}")
