"""The persistent state of a cluster, and the registrations of its processes.

The state corresponds to that of real coordinators and system keys. It is plain data with a JSON form, because the
coordinators of the sandbox keep it on their disks.
"""

import re
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from stateward.simulation.foundationdb.addresses import Connection, endpoint, host

FACTORS = {"single": 1, "double": 2, "triple": 3}
"""Replicas by redundancy mode."""
ENGINES = frozenset({"ssd", "ssd-1", "ssd-2", "ssd-redwood-1", "ssd-rocksdb-v1", "memory", "memory-1", "memory-2"})
DEFAULTS = {"logs": 3, "commit_proxies": 3, "grv_proxies": 1, "resolvers": 1}
SHARDS = 12
SHARD_BYTES = 8 * 2**20


@lru_cache(maxsize=256)
def protocol(version: str) -> str:
    """Return the protocol of a version: only processes of the same protocol talk to each other."""
    major, minor = (int(number) for number in version.split(".")[:2])
    return f"fdb00b0{major}{minor}000000"


@dataclass(slots=True)
class Worker:
    """A registered process; `seen` is the time of its last heartbeat."""

    address: str
    kind: str
    locality: dict[str, str]
    version: str
    command_line: str
    started: float
    store: str
    """The id of its data directory; a lost directory gets a new one."""
    disk_total: int = 100 * 2**30
    disk_free: int = 80 * 2**30
    messages: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    seen: float = 0.0

    @property
    def zone(self) -> str:
        """Its fault domain."""
        return self.locality.get("zoneid") or host(self.address)


@dataclass(slots=True)
class Shard:
    """A part of the data with its replicas, and at most one that is being created."""

    size: int
    holders: list[str]
    target: str = ""
    moved: float = 0.0


@dataclass(slots=True)
class Server:
    """A storage server; the database forgets it once it holds no data."""

    address: str
    zone: str
    locality: dict[str, str]
    seen: float
    """When it was last reachable, or in a zone in maintenance."""
    failed: bool = False
    """Whether data distribution takes it for failed: until then its replicas count, reachable or not."""


@dataclass(slots=True)
class Epoch:
    """A generation of transaction logs."""

    number: int
    logs: dict[str, str]
    """The address of the process with each data directory, by directory."""
    places: dict[str, dict[str, str]]
    """Their localities."""
    factor: int


@dataclass(slots=True)
class Recovery:
    """The phase of the recovery, and its start."""

    name: str = "configuration_never_created"
    since: float = 0.0
    recovered: float = 0.0


@dataclass(slots=True)
class State:
    """The persistent state."""

    description: str
    generation: str
    coordinators: list[str]
    configuration: dict[str, Any] = field(default_factory=dict[str, Any])
    """Empty until a database is created."""
    excluded: list[str] = field(default_factory=list[str])
    """Hosts, addresses without `:tls`, and localities as `locality_KEY:VALUE`."""
    failed: list[str] = field(default_factory=list[str])
    maintenance: str = ""
    maintenance_until: float = 0.0
    distribution: bool = True
    """Whether data distribution is on."""
    failures: bool = True
    """Whether data distribution takes any storage server for failed."""
    shards: list[Shard] = field(default_factory=list[Shard])
    servers: dict[str, Server] = field(default_factory=dict[str, Server])
    epochs: list[Epoch] = field(default_factory=list[Epoch])
    recovery: Recovery = field(default_factory=Recovery)
    roles: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The transaction system: addresses by role."""
    born: dict[str, float] = field(default_factory=dict[str, float])
    """The start of each process of the transaction system: a restarted one has lost its role."""

    @property
    def connection(self) -> Connection:
        """The addresses of the coordinators."""
        return Connection(self.description, self.generation, tuple(self.coordinators))

    @property
    def factor(self) -> int:
        """Replicas of each shard and of each log."""
        return FACTORS[self.configuration["redundancy_mode"]]

    @property
    def available(self) -> bool:
        """Whether transactions commit."""
        return self.recovery.name in {"accepting_commits", "all_logs_recruited", "fully_recovered"}

    def excludes(self, address: str, locality: dict[str, str]) -> bool:
        """Return whether a process is excluded, by address or by locality."""
        if not self.excluded and not self.failed:
            return False
        names = {host(address).strip("[]"), host(address), endpoint(address)}
        names |= {f"locality_{key}:{value}" for key, value in locality.items()}
        return not names.isdisjoint(self.excluded) or not names.isdisjoint(self.failed)


def to_json(state: State) -> dict[str, Any]:
    """Return the state as plain data."""
    return asdict(state)


def from_json(document: dict[str, Any]) -> State:
    """Return the state from plain data."""
    parts: dict[str, Any] = {
        "shards": [Shard(**shard) for shard in document["shards"]],
        "servers": {name: Server(**server) for name, server in document["servers"].items()},
        "epochs": [Epoch(**epoch) for epoch in document["epochs"]],
        "recovery": Recovery(**document["recovery"]),
    }
    fields: dict[str, Any] = {**document, **parts}
    return State(**fields)


def is_version(text: str) -> bool:
    """Return whether a text is a version such as `7.1.67`."""
    return re.fullmatch(r"\d+\.\d+\.\d+", text) is not None
