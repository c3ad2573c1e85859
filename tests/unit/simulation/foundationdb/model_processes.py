"""A few processes of the model in virtual time, and a client that runs commands."""

import asyncio
import json
from typing import Any

from stateward.simulation.foundationdb.commandline import Run
from stateward.simulation.foundationdb.ensemble import Client, Ensemble
from stateward.simulation.foundationdb.state import Worker


class ModelProcesses:
    """Six storage processes, three logs and two stateless ones over three zones; 10.0.0.1 to 3 are coordinators."""

    def __init__(self, version: str = "7.1.67", storage: int = 6, zones: int = 3) -> None:
        self.now = 1000.0
        self.ensemble = Ensemble(lambda: self.now)
        self.version = version
        self.client = Client(version, "test:first@10.0.0.1:4500,10.0.0.2:4500,10.0.0.3:4500")
        kinds = ["storage"] * storage + ["log"] * 3 + ["stateless"] * 2
        for number, kind in enumerate(kinds, start=1):
            self.start(number, kind, f"z{number % zones}")

    def start(self, number: int, kind: str, zone: str, *, store: str = "", version: str = "") -> str:
        """Start a process: `number` is its address and its member."""
        address = f"10.0.0.{number}:4500"
        name = f"{kind}-{number}"
        self.ensemble.start(
            Worker(
                address,
                kind,
                {"instance_id": name, "zoneid": zone, "machineid": name, "processid": f"{number:032x}"},
                version or self.version,
                f"/usr/bin/fdbserver --class={kind} --locality_instance_id={name}",
                self.now,
                store or f"{number:032x}",
            )
        )
        return address

    async def run(self, line: str, seconds: float = 60.0) -> tuple[int, str]:
        """Run commands in virtual time; the time-out is one of virtual time, too."""
        until = self.now + seconds

        async def sleep(passed: float) -> None:
            self.now += passed
            await asyncio.sleep(0)
            if self.now >= until:
                raise TimeoutError

        def ask(request: dict[str, Any]) -> Any:
            return self.ensemble.ask(self.client, request)

        run = Run(ask, sleep, self.ensemble.identity)
        return await run.execute(line)

    async def status(self) -> Any:
        return json.loads((await self.run("status json"))[1])

    async def made(self, redundancy: str = "double") -> "ModelProcesses":
        """Make the database, and wait until it has settled."""
        await self.run(f"configure new {redundancy} ssd-2")
        self.now += 30
        await self.status()
        return self
