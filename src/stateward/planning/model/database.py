"""What a database says about itself, in neutral words.

A *unit* is a shard (or a tablet, or a team), a *copy* is one of its replicas, a *voter* is a cluster manager (or a
coordinator). Engines translate what their database says into it, and planning knows no engine. What could not be read
is `Unknown`, a value of its own: it is never taken for absent, empty, green or zero.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

UNANSWERED, TOO_LARGE = "DatabaseUnknown", "AnswerTooLarge"
"""Reasons to wait for a picture: there was no answer, or one that is larger than is read."""


class Unknown(Struct, frozen=True):
    """What could not be read, and why, in words a person understands."""

    why: str
    reason: str = UNANSWERED
    """The reason by which a plan waits for it."""


class Unformed(Unknown, frozen=True):
    """The database itself says that nothing was ever made in it: the only word on which one may be made."""


class CopyState(StrEnum):
    """Where one copy of a unit stands."""

    STARTED = "started"
    INITIALIZING = "initializing"
    RELOCATING = "relocating"
    UNASSIGNED = "unassigned"


class Copy(Struct, frozen=True):
    """One copy of a unit. A relocating copy is started on `member` and on its way to `target`."""

    state: CopyState
    primary: bool = False
    member: str = ""
    target: str = ""
    in_sync: bool = True
    why: str = ""
    """For an unassigned copy: since which event, in the database's words."""
    held: bool = False
    """For an unassigned copy: the database has tried, and says that it may be placed nowhere as things are."""
    since: float = 0.0
    """For an unassigned copy: since when."""

    @property
    def live(self) -> bool:
        """Whether it serves: started, or started and moving, with all acknowledged writes."""
        return self.state in (CopyState.STARTED, CopyState.RELOCATING) and self.in_sync


class Unit(Struct, frozen=True):
    """A shard with all its copies."""

    name: str
    """Unique within the database."""
    wanted: int
    """Copies it should have, the primary included."""
    copies: tuple[Copy, ...]
    flexible: bool = False
    """Whether the database adapts the number of copies to the number of nodes."""
    size: int = 0


class Node(Struct, frozen=True):
    """A database node as the database lists it; its name is the member's name."""

    name: str
    version: str
    data: bool
    voting: bool
    disk_total: int = 0
    disk_free: int = 0
    fault: str = ""
    """What the database says is wrong with the node's disk, as a clause; empty when it says nothing."""


class Allocation(StrEnum):
    """Which copies the database may place: all, or primaries only."""

    ALL = "all"
    PRIMARIES = "primaries"
    NEW_PRIMARIES = "new_primaries"
    NONE = "none"


class Health(StrEnum):
    """The database's own verdict."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


class Database(Struct, frozen=True):
    """One consistent answer of the database about itself."""

    identity: str
    health: Health
    nodes: Mapping[str, Node]
    units: tuple[Unit, ...] = ()
    leader: str = ""
    voters: frozenset[str] = frozenset()
    """Members of the committed voting configuration."""
    nameless: frozenset[str] = frozenset()
    """Voters that are not there now and of whom only the database's own id is known; only some engines have such."""
    voting_exclusions: frozenset[str] = frozenset()
    """Members without a vote, and ids of nodes that are not there, as far as they were excluded by id."""
    draining: frozenset[str] = frozenset()
    """Members that Stateward told the database to move data away from."""
    undrainable: Mapping[str, str] = {}
    """By member: why the database would not be told now to move away from it what it holds or does, as a clause."""
    unmovable: Mapping[str, str] = {}
    """By voter: why nobody could take its vote over now, as a clause."""
    allocation: Allocation = Allocation.ALL
    secured: bool = False
    """Whether it answered over a secured connection."""
    maintenance: str = ""
    """The zone that is in maintenance: its members are away on purpose."""
    maintained: frozenset[str] = frozenset()
    """The members of that zone."""
    tolerance: int | None = None
    """How many more failures cost no data and no availability; None where the database does not say."""
    connection: str = ""
    """How clients find it, where that is not a Service; empty where it is, or the database does not say."""
    untended: str = ""
    """What the database should be told for its own sake and nobody's move, as a clause; empty when there is nothing."""
    limited: bool = False
    """Whether it was Stateward that limited the allocation, or began the maintenance (and so must lift it)."""
    balance_paused: bool = False
    """Whether Stateward keeps the database from moving copies for the sake of balance (and so must end that)."""
