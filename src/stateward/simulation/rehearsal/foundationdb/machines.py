"""The processes of the members of a FoundationDB cluster, and their disks."""

from dataclasses import dataclass, field

from stateward.simulation.foundationdb.state import Worker

PORT = 4500


@dataclass(slots=True)
class Machine:
    """A member as the database meets it: some processes that start and end together."""

    member: str
    kind: str
    """The class of its processes."""
    domain: str
    """Its fault domain."""
    processes: int = 1
    address: str = ""
    """The IP address of its pod."""
    pod: str = ""
    """The UID of that pod."""
    disks: int = 0
    """How many volumes it has lost."""
    disk_total: int = 0
    disk_free: int = 0
    coordinates: bool = True
    """Whether its disk has the state that it has to keep as a coordinator."""
    forgotten: bool = False
    """Whether its objects were removed: one that starts with its name is another member."""
    workers: list[Worker] = field(default_factory=list[Worker])
    """Its running processes; reachable or not."""

    @property
    def runs(self) -> bool:
        """Whether its processes run."""
        return bool(self.workers)

    @property
    def addresses(self) -> frozenset[str]:
        """The addresses of its processes, now or last; empty if it never had any."""
        if not self.address:
            return frozenset()
        return frozenset(f"{self.address}:{PORT + i}" for i in range(self.processes))

    def stores(self) -> list[str]:
        """Return the ids of the data directories of its processes."""
        return [f"{self.member}.{self.disks}.{i}" for i in range(self.processes)]

    def start(self, version: str, now: float) -> list[Worker]:
        """Start its processes with a version, and return them."""
        self.workers = [self._worker(i, store, version, now) for i, store in enumerate(self.stores())]
        return self.workers

    def locality(self) -> dict[str, str]:
        """Return the locality of its processes."""
        return {"instance_id": self.member, "zoneid": self.domain, "machineid": self.domain}

    def _worker(self, number: int, store: str, version: str, now: float) -> Worker:
        place = {**self.locality(), "processid": store}
        address, line = f"{self.address}:{PORT + number}", f"fdbserver --class {self.kind}"
        total, free = (self.disk_total, self.disk_free) if self.disk_total else (FULL_SIZE, FULL_SIZE)
        return Worker(address, self.kind, place, version, line, now, store, total, free)


FULL_SIZE = 100 * 2**30
"""Bytes that an unknown disk has, all free: so no exclusion is refused for lack of space."""
