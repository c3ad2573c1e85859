"""The database's report about itself, in neutral terms.

A *unit* is a shard (or a tablet, or a team), a *copy* is one of its replicas, a *voter* is a cluster manager (or a
coordinator). Engines translate their database's answers into these terms, and planning knows no engine. What could not
be read is `Unknown`, a value of its own: it never counts as absent, empty, green or zero.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

UNANSWERED, TOO_LARGE = "DatabaseUnknown", "AnswerTooLarge"
"""Reasons to wait for a picture: there was no answer, or one that is larger than is read."""


class Unknown(Struct, frozen=True, tag=True):
    """What could not be read, and why, in words a person understands."""

    why: str
    reason: str = UNANSWERED
    """The reason by which a plan waits for it."""


class Unformed(Unknown, frozen=True, tag=True):
    """The database was never created: the only state in which it may be created."""

    certain: bool = True
    """Whether the database itself reports it. Otherwise it reports nothing, as does one that exists and is down: then
    it may be created only if there is no record at all that it was ever created."""


class CopyState(StrEnum):
    """The state of one copy of a unit."""

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
    """For an unassigned copy: the database has tried, and reports that no node may take it now."""
    since: float = 0.0
    """For an unassigned copy: since when."""

    @property
    def live(self) -> bool:
        """Whether it serves with all acknowledged writes: started, or started and relocating."""
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
    places: frozenset[str] | None = None
    """The nodes with data that may take its copies, as far as its own settings say; None if all may."""


class Duties(Struct, frozen=True):
    """What a node does in a database that has classes of processes; no plan depends on it, rehearsals play it."""

    kind: str = ""
    """The class of its processes."""
    domain: str = ""
    """Its fault domain."""
    roles: frozenset[str] | None = None
    """The roles of its processes; None if one of them does not report its roles."""
    stored: int | None = None
    """The bytes of data that it keeps; None if the database does not report them."""


class Node(Struct, frozen=True):
    """A database node as the database lists it; its name is the member's name."""

    name: str
    version: str
    data: bool
    voting: bool
    disk_total: int = 0
    disk_free: int = 0
    cpu: int | None = None
    """Use of its processors in percent; None if the database does not report it."""
    electable: bool = True
    """Whether it can be elected, if it votes: others vote and never lead."""
    fault: str = ""
    """The database's report of a fault of the node's disk, as a clause; empty without one."""
    duties: Duties | None = None
    """What it does, if the database has classes of processes; None otherwise, or if that is not known."""


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


class Barrier(Struct, frozen=True):
    """The first version that cannot read all data, and why, as a clause."""

    version: str
    why: str


class Database(Struct, frozen=True, tag=True):
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
    """Members that Stateward drains: all of the drain is in force."""
    half_draining: frozenset[str] = frozenset()
    """Members with only a part of what a drain sets, because a crash or another client came in between."""
    undrainable: Mapping[str, str] = {}
    """By member: why the database would refuse to drain it now, as a clause."""
    unproved: Mapping[str, str] = {}
    """By leaving member: the database's refusal of the proof that it holds no data, as a clause."""
    unmovable: Mapping[str, str] = {}
    """By voter: why no other member could take over its vote now, as a clause."""
    appoints_voters: bool = False
    """Whether it appoints some of its members as voters, so that another one can take over from the only voter; else
    the members with a role for it vote.
    """
    allocation: Allocation = Allocation.ALL
    secured: bool = False
    """Whether it answered over a secured connection."""
    maintenance: str = ""
    """The zone in maintenance: its members are down on purpose."""
    maintained: frozenset[str] = frozenset()
    """The members of that zone."""
    tolerance: int | None = None
    """How many more failures cost no data and no availability; None for a database that reports its copies instead."""
    partial: Mapping[str, str] = {}
    """By member of which only a part is in the database: the newest version of that part. It does not serve, and may
    hold data; only members with several processes can be so.
    """
    connection: str = ""
    """How clients connect if not through a Service; empty otherwise, or if the database does not report it."""
    barrier: Barrier | None = None
    """What no upgrade may reach or pass as long as the data is as it is; None if that is unknown."""
    redundancy: str = ""
    """The redundancy mode in force, of a database that has one for all its data; empty if it is not known."""
    pending_settings: str = ""
    """The settings that the database needs for its own sake, as a clause; empty if there are none."""
    limited: bool = False
    """Whether Stateward has limited the allocation or started the maintenance (and so must end it)."""
    half_limited: bool = False
    """Whether something of a limit is left after it was lifted, because a crash came in between."""
    balance_paused: bool = False
    """Whether Stateward prevents the database from rebalancing copies (and so must end that)."""
