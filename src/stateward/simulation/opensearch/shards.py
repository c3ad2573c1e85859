"""Shards: their copies, which of them have every acknowledged document, and where the bytes of each lie."""

from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """Where a copy stands, in the database's words."""

    UNASSIGNED = "UNASSIGNED"
    INITIALIZING = "INITIALIZING"
    STARTED = "STARTED"
    RELOCATING = "RELOCATING"


@dataclass(slots=True, eq=False)
class Copy:
    """One copy of a shard. `token` changes with every move, so that an old timer cannot end a new recovery."""

    primary: bool
    state: State = State.UNASSIGNED
    node: str = ""
    target: str = ""
    allocation: str = ""
    since: float = 0.0
    why: str = "INDEX_CREATED"
    left: str = ""
    """Id of the node that it was on when it lost its place; empty where none left."""
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
    first: str = ""
    """Name of the node that the first copy of a new index is for; empty where any will do."""

    @property
    def name(self) -> str:
        """The name by which Stateward calls it."""
        return f"{self.index}[{self.number}]"

    @property
    def primary(self) -> Copy:
        """The copy that takes writes first."""
        return next(copy for copy in self.copies if copy.primary)

    def on(self, node: str) -> Copy | None:
        """Return the copy that is on a node, or on its way to it."""
        return next((copy for copy in self.copies if node and node in (copy.node, copy.target)), None)


@dataclass(slots=True, eq=False)
class Disk:
    """What a data directory holds: whose it is, how new, and the allocations of the copies in it."""

    uid: str
    node_id: str
    identity: str = ""
    version: str = ""
    capacity: int = 50 * 2**30
    copies: dict[str, str] = field(default_factory=dict[str, str])
    """Allocation by name of the shard."""
    voter: bool = False
    """Whether it has held the metadata of a node that may vote."""
