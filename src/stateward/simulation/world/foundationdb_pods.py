"""Pods of FoundationDB in a world: their start script, their processes in the model, and their disks.

A pod behaves like `start.sh`: it waits for its configuration, copies the cluster file, starts its processes, and
restarts each process that a client kills.
"""

import base64
import hashlib
from dataclasses import dataclass, field
from functools import partial

from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import part
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.process import Container, Process
from stateward.simulation.foundationdb.addresses import connection, endpoint
from stateward.simulation.foundationdb.ensemble import Client, Ensemble
from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.foundationdb.state import Worker, protocol
from stateward.simulation.opensearch.databases import Damage, Loss

CONTAINER = "foundationdb"
"""Name of the container that runs the database."""
PORT = 4500
TIMING = Timing(patience=60.0)
"""The database's durations. The patience is its `DATA_DISTRIBUTION_FAILURE_REACTION_TIME`."""


@dataclass(slots=True)
class PodBehavior:
    """How pods behave; times in seconds, as ranges."""

    boot: tuple[float, float] = (1.0, 4.0)
    stop: tuple[float, float] = (0.2, 1.0)
    again: tuple[float, float] = (1.0, 3.0)
    broken: frozenset[str] = frozenset()
    """Versions that exit at their start."""


class FoundationDBPods:
    """Starts pods, and keeps the databases that they form by description."""

    def __init__(self, context: SimulationContext, damage: Damage) -> None:
        self.context = context
        self.behavior = PodBehavior()
        self.timing = TIMING
        self.databases: dict[str, Ensemble] = {}
        self.pods: dict[Key, FoundationDBPod] = {}
        """The newest run of each pod."""
        self.hanging: set[str] = set()
        """Kubernetes nodes with unresponsive disks: no process ends there."""
        self.isolated: set[str] = set()
        """Kubernetes nodes with isolated processes."""
        self.used: set[str] = set()
        """Disks on which a process has run."""
        self._damage = damage
        self._homes: dict[tuple[str, str], str] = {}
        """The disk with the state of each coordinator, by the database's description and its own name."""
        self._gone: set[str] = set()

    def start(self, container: Container) -> Process:
        """Start the container of a pod."""
        pod = FoundationDBPod(self, container)
        self.pods[container.pod] = pod
        pod.begin()
        return pod

    def database(self, description: str) -> Ensemble:
        """Return the database of a description, created on first use."""
        found = self.databases.get(description)
        if found is None:
            found = Ensemble(self.context.clock.timestamp, self.timing, resolve=self.resolve, killed=self._killed)
            found.moved = partial(self._moved, found)
            self.databases[description] = found
        return found

    def time(self, timing: Timing) -> None:
        """Give all databases other durations."""
        self.timing = timing
        for database in self.databases.values():
            database.advance()
            database.timing = timing
            if database.cluster is not None:
                database.cluster.timing = timing

    def resolve(self, name: str) -> str:
        """Return the address of the coordinator `POD.SERVICE.NAMESPACE.svc:PORT`."""
        name, tls = endpoint(name), ":tls" if name.endswith(":tls") else ""
        host, _, port = name.rpartition(":")
        words = host.split(".")
        if len(words) < 3 or host.replace(".", "").isdigit():
            return f"{name}{tls}"
        pod = self.context.store.get("/pods", Key(words[2], words[0]))
        address = part(pod.doc, "status").get("podIP", "") if pod is not None else ""
        return f"{address}:{port}{tls}" if address else f"{name}{tls}"

    def isolate(self, node: str, *, on: bool) -> None:
        """Isolate the processes of a node, or reconnect them."""
        if on:
            self.isolated.add(node)
        else:
            self.isolated.discard(node)
        for pod in self.pods.values():
            if pod.container.node == node:
                pod.cut() if on else pod.heal()

    def discard(self, disk: str) -> None:
        """Discard the data of a deleted disk; record what existed only there as lost."""
        self._gone.add(disk)
        for description, database in self.databases.items():
            if self._lost(description, database):
                self._damage.losses.append(Loss(description, "FoundationDB", 1))

    def keeps(self, file: str, address: str, disk: str) -> None:
        """Record the disk of the process at an address, if the cluster file names it as a coordinator."""
        named = connection(file)
        for name in named.coordinators:
            if self.resolve(name) == address:
                self._homes[named.description, name] = disk

    def _lost(self, description: str, database: Ensemble) -> bool:
        """Return whether data is lost: all replicas of a shard, a log's, or most coordinators' disks."""
        if database.cluster is None or not database.cluster.state.configuration:
            return False
        state = database.cluster.state
        shards = any(shard.holders and self._all_gone(shard.holders) for shard in state.shards)
        logs = any(sum(map(self._is_gone, epoch.logs)) >= epoch.factor for epoch in state.epochs)
        homes = [self._homes.get((description, name)) for name in state.coordinators]
        return shards or logs or sum(home in self._gone for home in homes) * 2 > len(homes)

    def _all_gone(self, stores: list[str]) -> bool:
        return all(map(self._is_gone, stores))

    def _is_gone(self, store: str) -> bool:
        return store.rpartition("/")[0] in self._gone

    def _moved(self, database: Ensemble, file: str) -> None:
        """Let the processes of the database record the current coordinators."""
        for pod in self.pods.values():
            pod.moved(database, file)
            if (first := pod.running.get(1)) is not None:
                self.keeps(file, first.address, pod.container.disk)

    def _killed(self, address: str) -> None:
        for pod in self.pods.values():
            pod.killed(address)


@dataclass(slots=True, eq=False)
class FoundationDBPod:
    """One run of the container of a pod."""

    all: FoundationDBPods
    container: Container
    alive: bool = True
    file: str = ""
    """The content of its cluster file."""
    version: str = ""
    """The version of its programs: those of its image, or those that an init container added."""
    running: dict[int, Worker] = field(default_factory=dict[int, Worker])
    """Its processes, by number from 1."""
    _database: Ensemble | None = None

    @property
    def context(self) -> SimulationContext:
        """The base of the world."""
        return self.all.context

    @property
    def secured(self) -> bool:
        """Whether its processes use TLS."""
        return "FDB_TLS_CERTIFICATE_FILE" in self.container.environment

    @property
    def reachable(self) -> bool:
        """Whether commands can run in it."""
        return self.alive and bool(self.file)

    @property
    def answers(self) -> bool:
        """Whether its processes run."""
        return self.alive and bool(self.running)

    @property
    def serves(self) -> bool:
        """Whether it is Ready: the probe checks only that its processes run."""
        return self.answers

    def client(self) -> Client:
        """Return the command line in this pod, with its cluster file: that of its image if it has no other programs."""
        return Client(self.version or self.container.version, self.file)

    def begin(self) -> None:
        """Wait for the pod's configuration and for the cluster file, as the start script does."""
        if not self.alive:
            return
        files = self.container.config()
        found = b"".join(base64.b64decode(files[name]) for name in sorted(files))
        wanted = self.container.environment.get("STATEWARD_CONFIG_SHA256", "")
        cluster = self.container.mounted("cluster").get("fdb.cluster", "")
        if (wanted and hashlib.sha256(found).hexdigest() != wanted) or not cluster or not files:
            self.context.later(2.0, self.begin)
            return
        self.version = program(self.container, base64.b64decode(files.get("program", "")).decode().strip())
        self.file = cluster
        self._database = self.all.database(connection(cluster).description)
        self.context.soon(*self.all.behavior.boot, self._boot, files)

    def _boot(self, files: dict[str, str]) -> None:
        if not self.alive:
            return
        if not self.version or self.version in self.all.behavior.broken:
            self.context.count("database process ended with an error")
            self._end()
            self.container.exited(1, "the database does not start")
            return
        words = base64.b64decode(files["arguments"]).decode().splitlines()
        for number in range(1, int(base64.b64decode(files["processes"]).decode()) + 1):
            self._start(number, words)

    def _start(self, number: int, words: list[str]) -> None:
        """Start one process; it joins if its cluster file leads to the database."""
        if not self.alive:
            return
        member = self.container.environment.get("STATEWARD_MEMBER", self.container.pod.name)
        domain = self.container.environment.get("STATEWARD_DOMAIN") or self.container.node
        kind = words[words.index("--class") + 1] if "--class" in words else "unset"
        store = f"{self.container.disk}/{number}"
        self.all.used.add(self.container.disk)
        locality = {
            "instance_id": member,
            "process_id": f"{member}-{number}",
            "processid": hashlib.blake2b(store.encode(), digest_size=16).hexdigest(),
            "zoneid": domain,
            "machineid": domain,
        }
        address = f"{self.container.address}:{PORT - 1 + number}{':tls' if self.secured else ''}"
        line = " ".join(["fdbserver", f"--locality_instance_id {member}", *words])
        now = self.context.clock.timestamp()
        worker = Worker(address, kind, locality, self.version, line, now, store)
        self.running[number] = worker
        self.container.probe()
        if self.container.node not in self.all.isolated:
            self._join(number, worker)

    def _join(self, number: int, worker: Worker) -> None:
        database = self._database
        if not self.alive or database is None or self.running.get(number) is not worker:
            return
        self._follow(database)
        database.start(worker, astray=not database.leads(self.file))
        if number == 1:
            self.all.keeps(self.file, worker.address, self.container.disk)
        if worker.address in database.astray:
            self.context.later(5.0, self._join, number, worker)

    def _follow(self, database: Ensemble) -> None:
        """Copy the operator's cluster file if only this one leads to the database."""
        known = self.container.mounted("cluster").get("fdb.cluster", "")
        if known and not database.leads(self.file) and database.leads(known):
            self.context.count("cluster file of before replaced")
            self.file = known

    def killed(self, address: str) -> None:
        """Restart a process that a client has killed."""
        for number, worker in list(self.running.items()):
            if worker.address == address and self.alive:
                del self.running[number]
                words = worker.command_line.split(" ")[3:]
                self.context.count("database process killed by a client")
                self.context.soon(*self.all.behavior.again, self._start, number, words)

    def moved(self, database: Ensemble, file: str) -> None:
        """Update the cluster file of joined processes after a change of coordinators."""
        joined = (w for w in self.running.values() if w.address not in database.astray)
        if any(database.processes.get(worker.address) is worker for worker in joined):
            self.file = file

    def cut(self) -> None:
        """Isolate its processes."""
        for worker in self.running.values():
            if self._database is not None:
                self._database.cut(worker.address)

    def heal(self) -> None:
        """Reconnect its processes."""
        for number, worker in self.running.items():
            self._join(number, worker)

    def stop(self) -> None:
        """Stop gracefully."""
        if self.alive:
            self._end()
            self.context.soon(*self.all.behavior.stop, self._ended)

    def _ended(self) -> None:
        if self.container.node in self.all.hanging:
            self.context.later(5.0, self._ended)
        else:
            self.container.exited(0, "stopped")

    def kill(self) -> None:
        """Kill its processes."""
        if self.alive:
            self._end()

    def _end(self) -> None:
        self.alive = False
        for worker in self.running.values():
            database = self._database
            if database is not None and database.processes.get(worker.address) is worker:
                silent = self.container.node in self.all.isolated
                database.cut(worker.address) if silent else database.end(worker.address)
        self.running.clear()


def program(container: Container, wanted: str) -> str:
    """Return the version of the programs that the start script runs; empty if the desired ones are missing."""
    if not wanted or wanted in (container.version, container.beside):
        return wanted or container.version
    return container.version if protocol(wanted) == protocol(container.version) else ""
