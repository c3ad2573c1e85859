"""A writer of keys in a real FoundationDB, through its command line: what it acknowledged is there in the end."""

import asyncio
import re
import subprocess

from stateward.kube.objects.errors import ApiError
from tests.e2e import witness
from tests.e2e.foundationdb.database import Fdb

KEY = re.compile(r"`(key/\d+)'")


class Writer(witness.AcknowledgedWrites):
    """Sets keys of one cluster."""

    def __init__(self, fdb: Fdb, name: str, pause: float = 0.5) -> None:
        super().__init__(name, pause)
        self.fdb = fdb
        self.name = name

    async def write(self, number: int) -> str:
        key = f"key/{number:05}"
        return key if "Committed (" in await self._told(number, f"writemode on; set {key} {number}", seconds=10) else ""

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
            text = await self._told(number, f"getrangekeys key/ key0 {witness.MOST_WRITES}", seconds=60)
            if "Range limited to" in text:
                found = set(KEY.findall(text))
                witness.FIGURES.read(self.name, len(self.acknowledged & found))
                return self.acknowledged - found
        raise AssertionError(f"the keys of {self.name} could not be read")
