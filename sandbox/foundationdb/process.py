"""A running `fdbserver`: it answers, says that it is there, coordinates where it is named, and leads if elected."""

import asyncio
import contextlib
import shutil
import ssl
import time
import uuid
from pathlib import Path
from typing import Any

from sandbox.foundationdb import wire
from sandbox.foundationdb.finding import ClusterFile, Found, find, resolve
from sandbox.foundationdb.leading import Leader
from sandbox.foundationdb.options import Options
from sandbox.foundationdb.register import Register
from stateward.simulation.foundationdb.state import protocol

PAUSE = 0.5
"""Seconds between two signs of life."""
TURN = 0.7
"""Seconds that a coordinator waits longer than the one before it, before it wants to lead."""


class Process:
    """One process, from its start to its end."""

    def __init__(self, options: Options, version: str, file: ClusterFile) -> None:
        self.options = options
        self.version = version
        self.protocol = protocol(version)
        self.file = file
        self.started = time.time()
        self.store = store_of(options.data)
        self.register = Register(options.data)
        self.leader: Leader | None = None
        self.ended = asyncio.Event()
        self._leaderless = time.time()
        self._tasks = set[asyncio.Task[None]]()

    async def run(self) -> None:
        """Run until killed."""
        host, _, port = self.options.listen.removesuffix(":tls").rpartition(":")
        tls = self.options.tls
        accepts = self.protocol >= protocol("7.3")
        context = tls.context(ssl.Purpose.CLIENT_AUTH, needed=not accepts) if tls is not None else None
        stranger = self.answer_stranger if accepts else None
        server = await wire.serve(host.strip("[]"), int(port), self.answer, tls, context, stranger)
        if tls is not None and context is not None:
            self._later(wire.refresh(tls, context, self.options.refresh))
        print(f"FDBD joined cluster {self.file.current} as {self.options.address}", flush=True)
        living = asyncio.create_task(self._live())
        await self.ended.wait()
        living.cancel()
        server.close()

    async def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Answer a question; one of another protocol is not understood."""
        if message["protocol"] != self.protocol:
            if self.leader is not None and "address" in message:
                self.leader.cluster.strangers[message["address"]] = time.time()
            return {"error": "protocol"}
        key = message.get("key", "")
        kept = self.register.answer(key, message, time.time())
        if kept is not None:
            return kept
        if message["op"] == "die":
            self._later(self._die())
        if self.leader is None or self.leader.current.key != key:
            return {"heard": False, "answer": None}
        if message["op"] == "beat":
            self.leader.heartbeat(message["worker"])
        if message["op"] != "ask":
            return {"heard": True}
        answer = await self.leader.answer(message["request"])
        self._later(self._execute())
        return {"answer": answer}

    async def answer_stranger(self, message: dict[str, Any]) -> dict[str, Any]:
        """Answer a peer without a certificate: it learns where the database is, and nothing that is in it."""
        op, request = message["op"], message.get("request", {})
        if op == "leader" or message["protocol"] != self.protocol or request.get("op") == "where":
            return await self.answer(message)
        if op != "ask":
            raise ValueError(f"a peer without a certificate asks for {op}")
        leads = self.leader is not None and self.leader.current.key == message.get("key", "")
        return {"answer": {"untrusted": True} if leads else None}

    async def _live(self) -> None:
        while True:
            with contextlib.suppress(wire.SilentError):
                await self._once()
            await asyncio.sleep(PAUSE)

    async def _once(self) -> None:
        """Say that this process is there; lead, or want to, if it is a coordinator."""
        if self.leader is not None:
            if not await self.leader.renew():
                self.leader = None
            else:
                self.leader.heartbeat(self.worker())
                return
        found = await find(self.file.current.coordinators, self.file.current.key, self.protocol)
        if found.forward:
            self.file.follow(found.forward)
            return
        if found.leader:
            self._leaderless = time.time()
            beat = {"op": "beat", "key": self.file.current.key, "worker": self.worker()}
            await wire.ask(found.leader, {**beat, "protocol": self.protocol, "address": self.options.address})
        elif found.quorum:
            await self._stand(found)
        else:
            await self._knock()

    async def _stand(self, found: Found) -> None:
        """Want to lead, when it is this coordinator's turn."""
        names = self.file.current.coordinators
        addresses = [await resolve(name) for name in names]
        if self.options.address not in addresses:
            return
        if time.time() - self._leaderless < 1.0 + TURN * addresses.index(self.options.address):
            return
        candidate = Leader(self.options.address, self.version, self.file.current, found.epoch + 1)
        if await candidate.renew() and await candidate.begin():
            self.leader = candidate
        self._leaderless = time.time()

    async def _knock(self) -> None:
        """Announce this process to processes of another protocol."""
        beat = {"op": "beat", "protocol": self.protocol, "address": self.options.address}
        names = self.file.current.coordinators
        await asyncio.gather(*(wire.ask(name, beat) for name in names), return_exceptions=True)

    def worker(self) -> dict[str, Any]:
        """Return what this process says of itself."""
        disk = shutil.disk_usage(self.options.data)
        return {
            "address": self.options.address,
            "kind": self.options.kind,
            "locality": {"processid": self.store, **self.options.locality},
            "version": self.version,
            "command_line": self.options.command_line,
            "started": self.started,
            "store": self.store,
            "disk_total": disk.total,
            # How full the machine of a sandbox is says nothing of the clusters in it.
            "disk_free": max(disk.free, disk.total // 2),
        }

    async def _execute(self) -> None:
        if self.leader is not None and self.leader.condemned and await self.leader.execute():
            await self._die()

    async def _die(self) -> None:
        # So that the answer gets out.
        await asyncio.sleep(0.2)
        self.ended.set()

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def store_of(directory: Path) -> str:
    """Return what a data directory is known by, made when it is first used."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "processId"
    if not file.exists():
        file.write_text(uuid.uuid4().hex)
    return file.read_text()
