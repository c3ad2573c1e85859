"""Shards: their copies, their in-sync sets, and the disks of the copies."""

from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """The state of a copy, as the database names it."""

    UNASSIGNED = "UNASSIGNED"
    INITIALIZING = "INITIALIZING"
    STARTED = "STARTED"
    RELOCATING = "RELOCATING"


@dataclass(slots=True, eq=False)
class Copy:
    """One copy of a shard. `token` changes with each move, so that an old timer cannot finish a new recovery."""

    primary: bool
    state: State = State.UNASSIGNED
    node: str = ""
    target: str = ""
    allocation: str = ""
    since: float = 0.0
    why: str = "INDEX_CREATED"
    left: str = ""
    """Id of the node that it lost; empty if it lost none."""
    delayed_until: float = 0.0
    token: int = 0

    @property
    def active(self) -> bool:
        """Whether it serves."""
        return self.state in (State.STARTED, State.RELOCATING)


@dataclass(slots=True, eq=False)
class Shard:
    """One shard of an index; size in bytes, rate in documents a second."""

    index: str
    number: int
    size: int
    rate: float
    copies: list[Copy]
    spread: str = "false"
    """The index's `auto_expand_replicas`."""
    in_sync: set[str] = field(default_factory=set[str])
    """Allocations that have every acknowledged document."""
    acknowledged: float = 0.0
    document: int = 0
    """Bytes by which each document enlarges it."""
    first: str = ""
    """Name of the node for the first copy of a new index; empty for any node."""

    @property
    def name(self) -> str:
        """The name by which Stateward calls it."""
        return f"{self.index}[{self.number}]"

    @property
    def primary(self) -> Copy:
        """The primary copy."""
        return next(copy for copy in self.copies if copy.primary)

    def on(self, node: str) -> Copy | None:
        """Return the copy on a node, or relocating to it."""
        return next((copy for copy in self.copies if node and node in (copy.node, copy.target)), None)


@dataclass(slots=True, eq=False)
class Disk:
    """The content of a data directory: node id, cluster, version, and the allocations of its copies."""

    uid: str
    node_id: str
    identity: str = ""
    version: str = ""
    capacity: int = 50 * 2**30
    copies: dict[str, str] = field(default_factory=dict[str, str])
    """Allocation by name of the shard."""
    voter: bool = False
    """Whether it has held the metadata of a node that may vote."""
