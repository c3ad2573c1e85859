"""All processes of one database in memory, and the connections of clients: the model without sockets.

The sandbox uses elections and registers; here the result is immediate: a client reaches a cluster if a majority of the
coordinators in its cluster file run with its own protocol. Earlier coordinators refer to the current ones.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from stateward.simulation.foundationdb import recovery, status
from stateward.simulation.foundationdb.addresses import Connection, connection
from stateward.simulation.foundationdb.cluster import Cluster
from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.foundationdb.state import State, Worker, protocol

STEP = 0.5
"""The longest step of the model, in seconds."""


@dataclass(slots=True)
class Client:
    """A client: its version and its cluster file, which is rewritten when the coordinators change."""

    version: str
    file: str
    path: str = "/var/fdb/fdb.cluster"

    @property
    def description(self) -> str:
        """The description that identifies its database."""
        return connection(self.file).description


@dataclass(slots=True, eq=False)
class Ensemble:
    """The processes of one database; `clock` returns the time in seconds."""

    clock: Callable[[], float]
    timing: Timing = field(default_factory=Timing)
    processes: dict[str, Worker] = field(default_factory=dict[str, Worker])
    """The running and reachable processes, by address."""
    astray: set[str] = field(default_factory=set[str])
    """Those with an outdated cluster file: they act as coordinators, and join no cluster."""
    killed: Callable[[str], None] = lambda _: None
    """The callback for each process that a client kills."""
    moved: Callable[[str], None] = lambda _: None
    """The callback for a change of the coordinators, with the new cluster file."""
    cluster: Cluster | None = None
    resolve: Callable[[str], str] = lambda name: name
    """Resolves the host name of a coordinator to its address; returns another text if it has none."""
    past: list[Connection] = field(default_factory=list[Connection])
    """Earlier connection strings."""
    _numbers: Iterable[int] = field(default_factory=itertools.count)

    def start(self, worker: Worker, *, astray: bool = False) -> None:
        """Start a process."""
        self.advance()
        self.processes[worker.address] = worker
        self.astray.discard(worker.address)
        if astray:
            self.astray.add(worker.address)

    def leads(self, file: str) -> bool:
        """Return whether a cluster file leads to the database: it names current or running earlier coordinators."""
        named = connection(file)
        if self.cluster is None or named == self.cluster.state.connection:
            return True
        return named in self.past and self.leading(named) is not None

    def end(self, address: str) -> None:
        """End a process and close its connections."""
        self.advance()
        self.processes.pop(address, None)
        if self.cluster is not None:
            self.cluster.lose(address)

    def cut(self, address: str) -> Worker | None:
        """Make a process unreachable, so that its state is unknown. `start` reverts this."""
        self.advance()
        return self.processes.pop(address, None)

    def advance(self) -> None:
        """Advance the model to the current time; without a majority of coordinators it does not change."""
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
            instant = min(now, self._instant(cluster, heard))
            for worker in heard:
                cluster.heartbeat(worker, instant)
            cluster.advance(instant)

    def _instant(self, cluster: Cluster, heard: list[Worker]) -> float:
        """Return the latest time up to which the model may advance at once: one at rest does not change in between."""
        return inf if self._rests(cluster, heard) else cluster.at + STEP

    def _rests(self, cluster: Cluster, heard: list[Worker]) -> bool:
        """Return whether the model is at rest: all processes run, it is fully recovered, and no data moves."""
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
        """Return the version of a majority of the coordinators; None if there is no majority."""
        versions = [self.processes[a].version for a in map(self.resolve, wanted.coordinators) if a in self.processes]
        for version in sorted(versions, key=lambda text: [int(part) for part in text.split(".")], reverse=True):
            same = [other for other in versions if protocol(other) == protocol(version)]
            if len(same) * 2 > len(wanted.coordinators):
                return version
        return None

    def follow(self, client: Client) -> Connection:
        """Return the coordinators of a client; its cluster file is updated if they changed."""
        named = connection(client.file)
        if self.cluster is not None and named in self.past and self.leading(named) is not None:
            client.file = f"{self.cluster.state.connection}\n"
            return self.cluster.state.connection
        return named

    async def ask(self, client: Client, request: dict[str, Any]) -> dict[str, Any] | None:
        """Answer a client; None if it reaches no cluster."""
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
        """Return an unused id for coordinators."""
        return f"{next(iter(self._numbers)):032x}"

    def _cluster(self, wanted: Connection, version: str, now: float) -> Cluster:
        made = self.cluster
        # Where no database was created, coordinators hold nothing: others of the same name begin anew.
        if made is None or (made.state.connection != wanted and not made.state.configuration):
            state = State(wanted.description, wanted.generation, list(wanted.coordinators))
            self.cluster = Cluster(state, version, self.timing)
            self.cluster.kill = self._kill
            self.cluster.resolve = self.resolve
            self.cluster.at = now - STEP
            self.advance()
            return self.cluster
        return made

    def _kill(self, address: str) -> None:
        self.end(address)
        self.killed(address)

    def _reached(self, wanted: Connection, client: Client) -> list[str]:
        own = protocol(client.version)
        there = {address for address, process in self.processes.items() if protocol(process.version) == own}
        return [name for name in wanted.coordinators if self.resolve(name) in there]
