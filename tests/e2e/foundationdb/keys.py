"""A writer of keys in a real FoundationDB, through its command line: what it acknowledged is there in the end."""

import asyncio
import re
import subprocess
import time
from dataclasses import dataclass, field
from typing import Self

from stateward.kube.objects.errors import ApiError
from tests.e2e import witness
from tests.e2e.foundationdb.database import Fdb

MOST_KEYS = 20_000
"""A writer ends by itself."""
KEY = re.compile(r"`(key/\d+)'")


@dataclass
class Writer:
    """Sets keys, one after the other, and remembers those that the database has committed."""

    fdb: Fdb
    name: str
    """Of the cluster."""
    pause: float = 0.5
    acknowledged: set[str] = field(default_factory=set[str])
    failures: int = 0
    longest_gap: float = 0.0
    _task: "asyncio.Task[None] | None" = None
    _done: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._done.set()
        if self._task is not None:
            await self._task
        witness.FIGURES.written(self.name, len(self.acknowledged), self.longest_gap)

    async def _run(self) -> None:
        last = time.monotonic()
        for number in range(MOST_KEYS):
            key = f"key/{number:05}"
            if "Committed (" in await self._told(number, f"writemode on; set {key} {number}", seconds=10):
                self.acknowledged.add(key)
                now = time.monotonic()
                self.longest_gap, last = max(self.longest_gap, now - last), now
            else:
                self.failures += 1
            if await witness.over(self._done, self.pause):
                return

    async def _told(self, number: int, command: str, seconds: int) -> str:
        """Return what a command prints in the next pod that is ready; a failure acknowledges nothing."""
        try:
            pods = await self.fdb.clusters.pods(self.name)
            ready = [name for name, pod in sorted(pods.items()) if pod.ready and not pod.metadata.terminating]
            if not ready:
                return ""
            return await asyncio.to_thread(self.fdb.run, f"{ready[number % len(ready)]}-0", command, seconds)
        except (ApiError, subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return ""

    async def missing(self) -> set[str]:
        """Return the acknowledged keys that the database does not have; raises AssertionError without an answer."""
        for number in range(5):
            text = await self._told(number, f"getrangekeys key/ key0 {MOST_KEYS}", seconds=60)
            if "Range limited to" in text:
                found = set(KEY.findall(text))
                witness.FIGURES.read(self.name, len(self.acknowledged & found))
                return self.acknowledged - found
        raise AssertionError(f"the keys of {self.name} could not be read")
