"""The elected process: it runs the model, receives heartbeats, and stores the state at a majority of coordinators."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from sandbox.foundationdb import wire
from sandbox.foundationdb.finding import resolve
from sandbox.foundationdb.register import LEASE
from stateward.simulation.foundationdb import status
from stateward.simulation.foundationdb.addresses import Connection, connection
from stateward.simulation.foundationdb.cluster import Cluster
from stateward.simulation.foundationdb.state import State, Worker, from_json, protocol, to_json

SETTLING = 1.5
"""Seconds for which a new leader collects heartbeats before it treats a process as missing."""
DOUBT = 1.2
"""Seconds after which a silent process is asked whether it still runs."""

Tell = Callable[[str], Awaitable[None]]


class Leader:
    """One leadership, from an election until it ends."""

    def __init__(self, address: str, version: str, current: Connection, epoch: int) -> None:
        self.address = address
        self.protocol = protocol(version)
        self.current = current
        self.epoch = epoch
        self.since = time.time()
        self.until = 0.0
        self.cluster = Cluster(State(current.description, current.generation, list(current.coordinators)), version)
        self.cluster.resolve = lambda name: self._addresses.get(name, name)
        self.cluster.kill = self._condemn
        self.condemned: list[str] = []
        self._addresses: dict[str, str] = {}
        self._reached: dict[str, bool] = {}
        self._written = ""
        self._number = 0

    async def begin(self) -> bool:
        """Read the newest state from a majority; False if there is none."""
        answers = [answer for answer in await self._all({"op": "read"}) if answer is not None]
        if len(answers) * 2 <= len(self.current.coordinators):
            return False
        newest = max(answers, key=lambda answer: answer["version"])
        if newest["state"] is not None:
            self.cluster.state = from_json(newest["state"])
        await self._look_up()
        return True

    async def renew(self) -> bool:
        """Renew the votes, and advance the model; False if this is no longer the leader."""
        started = time.time()
        votes = await self._all({"op": "vote", "candidate": self.address, "epoch": self.epoch})
        self._reached = {name: vote is not None for name, vote in zip(self.current.coordinators, votes, strict=True)}
        if sum(vote is not None and vote["granted"] for vote in votes) * 2 > len(votes):
            self.until = started + LEASE
        if time.time() > self.until:
            return False
        if time.time() - self.since >= SETTLING:
            await self._look_up()
            await self._doubt()
            self.cluster.advance(time.time())
            return await self._keep()
        return True

    def heartbeat(self, document: dict[str, Any]) -> None:
        """Note that a process is there."""
        self.cluster.heartbeat(Worker(**document), time.time())

    async def answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Answer a client, once a majority has kept what that changed; None where none has."""
        now = time.time()
        if now - self.since < SETTLING or now > self.until:
            return None
        if request["op"] == "status":
            return status.of_cluster(self.cluster, self._reached, now)
        if request["op"] == "coordinators":
            await self._look_up(request["addresses"])
            return await self._move(request, now)
        answer = self.cluster.ask(request, now)
        return answer if await self._keep() else None

    async def _move(self, request: dict[str, Any], now: float) -> dict[str, Any] | None:
        """Change the coordinators: the new ones know all before the old ones lead on to them."""
        answer = self.cluster.ask(request, now)
        if answer["result"] != "changed":
            return answer
        before, self.current = self.current, connection(answer["connection"])
        self._written = ""
        if not await self._keep():
            return None
        forward = {"op": "forward", "to": answer["connection"], "key": before.key, "protocol": self.protocol}
        await asyncio.gather(*(wire.ask(name, forward) for name in before.coordinators), return_exceptions=True)
        self.until = 0.0
        return answer

    async def _keep(self) -> bool:
        """Have a majority keep the state, if it changed."""
        state = to_json(self.cluster.state)
        # When a server was last heard of is not worth a write.
        quiet = json.dumps({**state, "servers": {k: {**v, "seen": 0} for k, v in state["servers"].items()}})
        if quiet == self._written:
            return True
        self._number += 1
        kept = await self._all({"op": "write", "version": [self.epoch, self._number], "state": state})
        done = sum(answer is not None and answer["kept"] for answer in kept) * 2 > len(kept)
        self._written = quiet if done else ""
        return done

    async def _all(self, message: dict[str, Any]) -> list[dict[str, Any] | None]:
        """Ask all coordinators; None for each that did not answer."""
        question = {**message, "key": self.current.key, "protocol": self.protocol}
        answers = await wire.most([wire.ask(name, question) for name in self.current.coordinators])
        return [None if answer is None or "error" in answer else answer for answer in answers]

    async def _look_up(self, more: list[str] | None = None) -> None:
        names = [*self.current.coordinators, *(more or [])]
        self._addresses = dict(zip(names, await asyncio.gather(*map(resolve, names)), strict=True))

    async def _doubt(self) -> None:
        """Ask the silent whether they run: where nothing listens, they have ended."""
        now = time.time()
        silent = [a for a, worker in self.cluster.workers.items() if now - worker.seen > DOUBT]
        question = {"op": "ping", "protocol": self.protocol}
        answers = await asyncio.gather(*(wire.ask(a, question, 0.5) for a in silent), return_exceptions=True)
        for address, answer in zip(silent, answers, strict=True):
            if isinstance(answer, wire.RefusedError):
                self.cluster.lose(address)

    def _condemn(self, address: str) -> None:
        self.condemned.append(address)

    async def execute(self) -> bool:
        """Tell those to end that were killed; return whether this process is one of them."""
        condemned, self.condemned = self.condemned, []
        question = {"op": "die", "protocol": self.protocol}
        others = [address for address in condemned if address != self.address]
        await asyncio.gather(*(wire.ask(address, question) for address in others), return_exceptions=True)
        return self.address in condemned
