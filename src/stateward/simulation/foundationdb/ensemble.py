"""All processes of one database in memory, and the ways of a client to them: the model without sockets.

What the sandbox does with elections and registers is decided here at once: a client reaches a cluster if a majority of
the coordinators that its cluster file names runs, with its own protocol. Those of before lead on to those of now.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from stateward.simulation.foundationdb import recovery, status
from stateward.simulation.foundationdb.addresses import Connection, connection
from stateward.simulation.foundationdb.cluster import Cluster
from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.foundationdb.state import State, Worker, protocol

STEP = 0.5
"""Seconds that the model goes on at once."""


@dataclass(slots=True)
class Client:
    """A client: its version and its cluster file, which is rewritten when the coordinators change."""

    version: str
    file: str
    path: str = "/var/fdb/fdb.cluster"

    @property
    def description(self) -> str:
        """What tells its database from every other."""
        return connection(self.file).description


@dataclass(slots=True, eq=False)
class Ensemble:
    """The processes of one database; `clock` says what time it is, in seconds."""

    clock: Callable[[], float]
    timing: Timing = field(default_factory=Timing)
    processes: dict[str, Worker] = field(default_factory=dict[str, Worker])
    """Those that run and can be reached, by address."""
    astray: set[str] = field(default_factory=set[str])
    """Those of them whose own cluster file leads nowhere: they coordinate, and join nothing."""
    killed: Callable[[str], None] = lambda _: None
    """Called for each process that a client kills."""
    moved: Callable[[str], None] = lambda _: None
    """Called with the new cluster file when the coordinators have changed."""
    cluster: Cluster | None = None
    resolve: Callable[[str], str] = lambda name: name
    """Returns the address of a coordinator that is named by its host name; another text where it has none."""
    past: list[Connection] = field(default_factory=list[Connection])
    """Connection strings of before."""
    _numbers: Iterable[int] = field(default_factory=itertools.count)

    def start(self, worker: Worker, *, astray: bool = False) -> None:
        """Let a process run."""
        self.advance()
        self.processes[worker.address] = worker
        self.astray.discard(worker.address)
        if astray:
            self.astray.add(worker.address)

    def leads(self, file: str) -> bool:
        """Tell whether a cluster file leads to the database: it names its coordinators, or those of before that run."""
        named = connection(file)
        if self.cluster is None or named == self.cluster.state.connection:
            return True
        return named in self.past and self.leading(named) is not None

    def end(self, address: str) -> None:
        """Let a process end, for sure: its connections are closed."""
        self.advance()
        self.processes.pop(address, None)
        if self.cluster is not None:
            self.cluster.lose(address)

    def cut(self, address: str) -> Worker | None:
        """Silence a process: it cannot be reached, and its state is unknown. `start` ends this."""
        self.advance()
        return self.processes.pop(address, None)

    def advance(self) -> None:
        """Let time pass up to now; nothing happens while there is no majority of coordinators."""
        cluster, now = self.cluster, self.clock()
        if cluster is None:
            return
        version = self.leading(cluster.state.connection)
        if version is None:
            cluster.at = now
            return
        cluster.version = version
        heard = [worker for address, worker in self.processes.items() if address not in self.astray]
        while cluster.at < now:
            # Where nothing is going on, nothing happens in the time between either.
            instant = now if self._rests(cluster, heard) else min(now, cluster.at + STEP)
            for worker in heard:
                cluster.heartbeat(worker, instant)
            cluster.advance(instant)

    def _rests(self, cluster: Cluster, heard: list[Worker]) -> bool:
        """Tell whether time alone changes nothing any more: all are there, all is recovered, and no data moves."""
        state = cluster.state
        known = {worker.store for worker in cluster.workers.values()}
        return (
            state.recovery.name in {"fully_recovered", "configuration_never_created"}
            and not state.maintenance
            and not cluster.strangers
            and len(cluster.workers) == len(heard)
            and all(worker is cluster.workers.get(worker.address) for worker in heard)
            and all(store in known for store in state.servers)
            and not any(shard.target for shard in state.shards)
            and not (state.configuration and recovery.broken(state, cluster.workers))
        )

    def leading(self, wanted: Connection) -> str | None:
        """Return a version that a majority of the coordinators speak; None where there is no majority."""
        versions = [self.processes[a].version for a in map(self.resolve, wanted.coordinators) if a in self.processes]
        for version in sorted(versions, key=lambda text: [int(part) for part in text.split(".")], reverse=True):
            same = [other for other in versions if protocol(other) == protocol(version)]
            if len(same) * 2 > len(wanted.coordinators):
                return version
        return None

    def follow(self, client: Client) -> Connection:
        """Return where a client finds the coordinators; its cluster file is written again if they changed."""
        named = connection(client.file)
        if self.cluster is not None and named in self.past and self.leading(named) is not None:
            client.file = f"{self.cluster.state.connection}\n"
            return self.cluster.state.connection
        return named

    async def ask(self, client: Client, request: dict[str, Any]) -> dict[str, Any] | None:
        """Answer a client; None where it reaches no cluster."""
        self.advance()
        now = self.clock()
        wanted = self.follow(client)
        version = self.leading(wanted)
        if version is None or protocol(version) != protocol(client.version):
            reached = dict.fromkeys(wanted.coordinators, False) | dict.fromkeys(self._reached(wanted, client), True)
            return status.alone(reached, client.path, now) if request["op"] == "status" else None
        cluster = self._cluster(wanted, version, now)
        if cluster.state.connection != wanted:
            return None
        if request["op"] == "status":
            reached = {name: self.resolve(name) in self.processes for name in wanted.coordinators}
            return status.whole(cluster, reached, client.path, now)
        before = cluster.state.connection
        answer = cluster.ask(request, now)
        if cluster.state.connection != before:
            self.past.append(before)
            self.moved(f"{cluster.state.connection}\n")
            client.file = f"{cluster.state.connection}\n"
        return answer

    def identity(self) -> str:
        """Return an id for coordinators that was never used."""
        return f"{next(iter(self._numbers)):032x}"

    def _cluster(self, wanted: Connection, version: str, now: float) -> Cluster:
        if self.cluster is None:
            state = State(wanted.description, wanted.generation, list(wanted.coordinators))
            self.cluster = Cluster(state, version, self.timing)
            self.cluster.kill = self._kill
            self.cluster.resolve = self.resolve
            self.cluster.at = now - STEP
            self.advance()
        return self.cluster

    def _kill(self, address: str) -> None:
        self.end(address)
        self.killed(address)

    def _reached(self, wanted: Connection, client: Client) -> list[str]:
        own = protocol(client.version)
        there = {address for address, process in self.processes.items() if protocol(process.version) == own}
        return [name for name in wanted.coordinators if self.resolve(name) in there]
