"""The clients of a run: writers that own their keys, readers of any key, and a check of the health every second."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from stateward.kube.objects.errors import ApiError
from tests.chaos.history import Operation
from tests.e2e.clusters import Database
from tests.e2e.witness import over

INDEX = "chaos"
WRITERS, KEYS_EACH, READERS = 4, 25, 2
PAUSE = 0.25
"""Seconds between two calls of a client: about twenty calls a second in all."""
TIMEOUT = 10.0
READ = 100
"""Keys in one request of the last reading."""


@dataclass
class Clients:
    """All clients of one run, and what they saw; times are in seconds since it was made."""

    database: Database
    rng: random.Random
    history: list[Operation] = field(default_factory=list[Operation])
    health: Counter[str] = field(default_factory=Counter[str])
    red: list[float] = field(default_factory=list[float])
    """The times of the checks with a red database."""
    seen: str = ""
    """The health when the database last answered."""
    troubled: float = -1.0
    """The time of the last check with less than green."""
    _began: float = field(default_factory=time.monotonic)
    _done: asyncio.Event = field(default_factory=asyncio.Event)
    _values: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None]:
        """Let them work while the block runs."""
        await self.database.create_index(INDEX)
        async with asyncio.TaskGroup() as group:
            for number in range(WRITERS):
                group.create_task(self._write([f"w{number}-{key}" for key in range(KEYS_EACH)]))
            for _ in range(READERS):
                group.create_task(self._read())
            group.create_task(self._watch())
            try:
                yield
            finally:
                self._done.set()

    async def final(self) -> dict[str, int | None]:
        """Return the value of each key that was ever acknowledged; raises ApiError."""
        keys = sorted({each.key for each in self.history if each.kind == "write" and each.answered})
        found: dict[str, int | None] = dict.fromkeys(keys)
        for start in range(0, len(keys), READ):
            answer = await self.database.ask(f"{INDEX}/_mget", "POST", {"ids": keys[start : start + READ]})
            if unread := [doc["_id"] for doc in answer["docs"] if "error" in doc]:
                raise ApiError(f"the database could not read {', '.join(unread)}")
            found |= {doc["_id"]: doc["_source"]["value"] for doc in answer["docs"] if doc.get("found")}
        return found

    async def _write(self, keys: list[str]) -> None:
        while not await over(self._done, PAUSE):
            key = self.rng.choice(keys)
            value = self._values[key] = self._values.get(key, 0) + 1
            begin = self.now
            answered = await self._put(key, value)
            self.history.append(Operation("write", key, value, begin, self.now, answered))

    async def _put(self, key: str, value: int) -> bool:
        # The value is the version as well: a write without an answer cannot come through after a later one.
        path = f"{INDEX}/_doc/{key}?version={value}&version_type=external"
        with suppress(ApiError, TimeoutError):
            async with asyncio.timeout(TIMEOUT):
                await self.database.ask(path, "PUT", {"value": value})
                return True
        return False

    async def _read(self) -> None:
        keys = [f"w{number}-{key}" for number in range(WRITERS) for key in range(KEYS_EACH)]
        while not await over(self._done, PAUSE):
            key, begin = self.rng.choice(keys), self.now
            answered, value = await self._get(key)
            self.history.append(Operation("read", key, value, begin, self.now, answered))

    async def _get(self, key: str) -> tuple[bool, int | None]:
        try:
            async with asyncio.timeout(TIMEOUT):
                answer = await self.database.ask(f"{INDEX}/_mget", "POST", {"ids": [key]})
        except (ApiError, TimeoutError):
            return False, None
        (doc,) = answer["docs"]
        if "error" in doc:
            return False, None
        return True, doc["_source"]["value"] if doc.get("found") else None

    async def _watch(self) -> None:
        while not await over(self._done, 1.0):
            with suppress(ApiError, TimeoutError, KeyError):
                async with asyncio.timeout(TIMEOUT):
                    status = (await self.database.health())["status"]
                self.health[status] += 1
                self.seen = status
                if status != "green":
                    self.troubled = self.now
                if status == "red":
                    self.red.append(self.now)
