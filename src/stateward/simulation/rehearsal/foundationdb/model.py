"""The model of a FoundationDB cluster with faults, and what they cost at each moment.

The database refuses writes without a majority of its coordinators, from the loss of a process of its transaction system
until the recovery from that, and while all copies of some data are gone. Data has no second copy while fewer than two
fault domains with it can be reached; that includes the logs of a generation whose data is not on storage servers yet.
"""

from collections.abc import Callable

from msgspec import Struct

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.engines.foundationdb.spec.identity import coordinator
from stateward.planning.model.observation import Database, Observation
from stateward.simulation.foundationdb import recovery
from stateward.simulation.foundationdb.cluster import Cluster
from stateward.simulation.foundationdb.next_change import EventfulEnsemble
from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.foundationdb.state import State, Worker
from stateward.simulation.rehearsal.foundationdb.machines import Machine
from stateward.simulation.rehearsal.foundationdb.start import assign, machines_of, state_of

LOGS, COORDINATORS = "(transaction logs)", "(coordinators)"
"""What has copies beside the teams."""
DATABASE = "(database)"
"""The name under which the whole database refuses writes."""


class Exposure(Struct, frozen=True):
    """What is exposed at one moment, by name."""

    single: frozenset[str] = frozenset()
    """What has no second copy, and should have one."""
    red: frozenset[str] = frozenset()
    """What has no copy that can be reached."""
    refused: bool = False
    """Whether the database refuses writes."""


class DatabaseModel:
    """One database and its members' processes; times are seconds of the caller's clock."""

    def __init__(
        self, start: Observation, cluster: FoundationDBCluster, timing: Timing, clock: Callable[[], float]
    ) -> None:
        self.cluster_spec = cluster
        self.machines = machines_of(start, cluster)
        self._clock, self._made = clock, 0
        state = state_of(start, cluster, self.machines, clock())
        self._names = {str(coordinator(cluster, name)): machine for name, machine in self.machines.items()}
        self.ensemble = EventfulEnsemble(clock, timing, resolve=self._resolve)
        self._begin(start, state, timing)

    @property
    def state(self) -> State:
        """The state of the database."""
        return self.cluster.state

    @property
    def quorum(self) -> bool:
        """Whether a majority of the coordinators can be reached."""
        return self.ensemble.leading(self.state.connection) is not None

    # What happens to members.

    def start(self, name: str, pod: str, version: str, new: Callable[[], Machine]) -> None:
        """Start the processes of a member in a pod, if they do not run; `new` makes it as its pod asks for it."""
        machine = self.machines.get(name)
        if machine is not None and machine.runs:
            return
        made = new()
        if machine is None:
            machine = self.machines[name] = made
            self._names[str(coordinator(self.cluster_spec, name))] = machine
        machine.processes = made.processes
        if machine.forgotten:
            machine.kind, machine.domain, machine.forgotten = made.kind, made.domain, False
        if machine.pod != pod or not machine.address:
            self._made += 1
            machine.address, machine.pod = f"10.129.{self._made // 250}.{self._made % 250 + 1}", pod
        for worker in machine.start(version, self._clock()):
            self.ensemble.start(worker)
        self.ensemble.touched = True

    def end(self, name: str) -> None:
        """End the processes of a member; the database notices at once."""
        machine = self.machines.get(name)
        if machine is not None and machine.runs:
            for worker in machine.workers:
                self.ensemble.end(worker.address)
            machine.workers = []
            self.ensemble.touched = True

    def cut(self, name: str, *, dead: bool) -> None:
        """Cut a member off, whose processes run on unless they are `dead`; the database notices after a while."""
        machine = self.machines.get(name)
        if machine is not None:
            for worker in machine.workers:
                self.ensemble.cut(worker.address)
            machine.workers = [] if dead else machine.workers

    def heal(self, name: str) -> None:
        """Reconnect a member."""
        machine = self.machines.get(name)
        if machine is not None:
            for worker in machine.workers:
                self.ensemble.start(worker)
            self.ensemble.touched = True

    def wipe(self, name: str) -> None:
        """Give a member whose processes have ended an empty disk."""
        machine = self.machines.get(name)
        if machine is not None:
            machine.disks += 1
            machine.coordinates = False

    def forget(self, name: str) -> None:
        """Forget what a member was: another one may start with its name."""
        machine = self.machines.get(name)
        if machine is not None:
            machine.forgotten = True

    def grow(self, name: str, before: int, after: int) -> None:
        """Give a member a larger disk, sizes in bytes."""
        machine = self.machines.get(name)
        if machine is not None and machine.disk_total and before:
            total = machine.disk_total * after // before
            machine.disk_free, machine.disk_total = machine.disk_free + total - machine.disk_total, total
            for worker in machine.workers:
                worker.disk_total, worker.disk_free = machine.disk_total, machine.disk_free

    # What the database does and knows.

    def advance(self) -> None:
        """Advance to the current time; coordinators with empty disks learn their state while there is a majority."""
        self.ensemble.advance()
        new = [machine for machine in self.machines.values() if machine.runs and not machine.coordinates]
        if new and self.quorum:
            for machine in new:
                machine.coordinates = True

    def next_change(self) -> float:
        """Return when the database changes next by itself; infinity if it does not."""
        return self.ensemble.next_change()

    def listed(self) -> frozenset[str]:
        """Return the members of which the database lists all processes as reachable."""
        if not self.quorum:
            return frozenset()
        live = self.cluster.live(self.cluster.at)
        running = (machine for machine in self.machines.values() if machine.runs)
        return frozenset(m.member for m in running if all(live.get(w.address) is w for w in m.workers))

    def serves(self, name: str) -> bool:
        """Return whether the processes of a member run and can be reached."""
        machine = self.machines.get(name)
        there = self.ensemble.processes
        return machine is not None and machine.runs and all(w.address in there for w in machine.workers)

    def summary(self) -> tuple[object, ...]:
        """Return what the operator could notice: another value is news."""
        state, cluster = self.state, self.cluster
        moving = sum(bool(shard.target) for shard in state.shards)
        listed = frozenset(address for address in cluster.live(cluster.at))
        held = frozenset(cluster.in_progress())
        return (self.quorum, state.recovery.name, len(state.epochs), bool(moving), listed, held, len(state.servers))

    def exposure(self) -> Exposure:
        """Return what is exposed now, whether the database has noticed it or not."""
        state, there = self.state, self.ensemble.processes
        stores = {worker.store for worker in there.values()}
        found = {f"team {i}": self._copies(shard.holders, stores) for i, shard in enumerate(state.shards)}
        left = [epoch.factor - len(epoch.logs.keys() - stores) for epoch in state.epochs]
        single = {name for name, copies in found.items() if copies < 2 and state.factor > 1}
        red = {name for name, copies in found.items() if copies < 1}
        if any(count < 2 and epoch.factor > 1 for count, epoch in zip(left, state.epochs, strict=True)):
            single.add(LOGS)
        if left and left[-1] < 1:
            red.add(LOGS)
        if self._forgotten():
            red.add(COORDINATORS)
        commits = self.quorum and state.available and not recovery.lost_roles(state, there)
        return Exposure(frozenset(single), frozenset(red), refused=bool(red) or not commits)

    @property
    def cluster(self) -> Cluster:
        """The model of the database itself."""
        found = self.ensemble.cluster
        assert found is not None  # noqa: S101 - it is made with this object
        return found

    def _copies(self, holders: list[str], stores: set[str]) -> int:
        """Return in how many fault domains a part of the data can be reached."""
        servers = self.state.servers
        return len({servers[store].zone for store in holders if store in stores and store in servers})

    def _forgotten(self) -> bool:
        """Return whether the disks of most coordinators are lost, with what only they knew."""
        named = [self._names.get(name) for name in self.state.coordinators]
        return sum(machine is not None and not machine.coordinates for machine in named) * 2 >= len(named) > 0

    def _resolve(self, name: str) -> str:
        """Return the address of a coordinator by its name; the name itself for one that knows nothing."""
        machine = self._names.get(name)
        if machine is None or not machine.coordinates or not machine.address:
            return name
        return f"{machine.address}:4500"

    def _begin(self, start: Observation, state: State, timing: Timing) -> None:
        """Start the processes of all members that the database lists, with the roles that they have."""
        database, now = start.database, self._clock()
        assert isinstance(database, Database)  # noqa: S101 - the rules have checked it
        workers = list[Worker]()
        pods = {member.name: member.pod for member in start.members}
        for name, node in database.nodes.items():
            machine, pod = self.machines.get(name), pods.get(name)
            if machine is not None:
                since = pod.created if pod is not None else now
                workers += machine.start(node.version, min(since, now - 1.0))
        version = max((worker.version for worker in workers), default=start.deployed_version)
        cluster = Cluster(state, version, timing)
        cluster.resolve, cluster.kill, cluster.at = self._resolve, self._nothing, now
        self.ensemble.cluster = cluster
        for worker in workers:
            self.ensemble.processes[worker.address] = worker
            cluster.heartbeat(worker, now)
        live = cluster.live(now)
        if not assign(state, database, self.machines, live) and recovery.recruit(state, live):
            del state.epochs[:-1]

    def _nothing(self, address: str) -> None:
        """Ignore the request to kill a process: the operator makes none."""
