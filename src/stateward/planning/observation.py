"""Everything known about one cluster at one instant, immutable.

What could not be read is `Unknown`, a value of its own: it is never taken for absent, empty, green or zero. The model
is neutral: a *unit* is a shard (or a tablet, or a team), a *copy* is one of its replicas, a *voter* is a cluster
manager (or a coordinator). Engines translate what their database says into it, and planning knows no engine.

Times are seconds since the epoch, sizes are bytes.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum

from msgspec import Struct


class Effect(IntEnum):
    """How hard a change hits a member, from nothing to a new member in its place."""

    NONE = 0
    RELOAD = 1
    RESTART = 2
    RECREATE = 3
    REPLACE = 4


class Unknown(Struct, frozen=True):
    """What could not be read, and why, in words a person understands."""

    why: str


Inputs = Mapping[str, str]
"""What a member is made from: names such as `version`, `config/path.repo`, `template/containers`, each with a digest.

Only what somebody asked for is in it, never what a template of Stateward adds by itself: a new Stateward restarts
nothing.
"""


class Ref(Struct, frozen=True):
    """One exact object: a delete names all three, so that nothing else is ever deleted."""

    name: str
    uid: str
    resource_version: str


class Workload(Struct, frozen=True):
    """The StatefulSet of a member."""

    ref: Ref
    inputs: Inputs
    version: str
    replicas: int
    observed: bool
    """Whether the StatefulSet controller has seen the newest template."""
    terminating: bool = False


class Pod(Struct, frozen=True):
    """The pod of a member."""

    ref: Ref
    inputs: Inputs
    version: str
    created: float
    ready: bool
    running: bool
    """Whether the database's container is running now."""
    terminating: bool = False
    trouble: str = ""
    """What keeps it from running, in Kubernetes' words, such as `CrashLoopBackOff: …` or `Unschedulable: …`."""
    node: str = ""
    zone: str = ""
    node_ready: bool = True
    ip: str = ""
    claims: bool = False
    """Whether it uses a volume claim, whether or not that claim was seen."""
    bootstrap: str = ""
    """The grant that was given to this very pod: empty or `granted`."""
    candidate: bool = False
    """Whether it waits for the grant to form the cluster when its volume is empty."""


class Claim(Struct, frozen=True):
    """A volume claim of a member; `capacity` is 0 until it is bound."""

    ref: Ref
    requested: int
    capacity: int
    storage_class: str
    expandable: bool | None = None
    """Whether its class allows expansion; None when that could not be read."""
    terminating: bool = False
    message: str = ""
    """What the volume's controller says about a resize that does not go on."""


class Member(Struct, frozen=True):
    """One database node with a stable identity, and those of its objects that exist."""

    name: str
    pool: str
    ordinal: int
    workload: Workload | None = None
    pod: Pod | None = None
    claim: Claim | None = None
    config: Inputs | None = None
    """Inputs of the configuration Secret; None when there is no Secret."""

    @property
    def alive(self) -> bool:
        """Whether it is meant to run: its StatefulSet asks for its pod."""
        return self.workload is not None and self.workload.replicas > 0 and not self.workload.terminating

    @property
    def present(self) -> bool:
        """Whether it has more than a volume that was kept."""
        return self.workload is not None or self.pod is not None


class Record(Struct, frozen=True):
    """What the status remembers about a member that has been in the cluster."""

    version: str
    """Newest version with which it has joined."""
    volume: str = ""
    """UID of the claim it joined with; empty when its data is ephemeral."""
    zone: str = ""
    """Zone that its pod was last seen in: where it counts as down while it has no pod."""


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
    voting_exclusions: frozenset[str] = frozenset()
    draining: frozenset[str] = frozenset()
    """Members that Stateward told the database to move data away from."""
    allocation: Allocation = Allocation.ALL
    limited: bool = False
    """Whether it was Stateward that limited the allocation (and so must lift it)."""


class SoleCopy(StrEnum):
    """What to do before a member goes down that holds the only copy of a unit."""

    MOVE = "Move"
    WAIT = "Wait"
    INTERRUPT = "Interrupt"


class Pool(Struct, frozen=True):
    """A pool as it should be."""

    name: str
    replicas: int
    voting: bool
    data: bool
    ephemeral: bool
    inputs: Inputs
    """Inputs of its members at the desired version."""
    held_inputs: Inputs
    """The same at the version that was last deployed: for members whose turn has not come."""
    effects: Mapping[str, Effect]
    """Effect by first part of an input's name (`config`, `template`, `version` …); an unlisted part recreates."""
    volume_size: int = 0
    storage_class: str | None = None
    tier: int = 0
    """Tiers change from the lowest number to the highest: frozen, cold, warm, hot."""


class Refusal(Struct, frozen=True):
    """Something that was asked for and is not done: the field, the reason, and whether the rest goes on."""

    subject: str
    reason: str
    message: str
    everything: bool = True
    """Whether the whole edit is held back, or (False) only what it is about, such as the version."""


class Desired(Struct, frozen=True):
    """What should be, with every default filled in."""

    version: str
    """The version to run; the deployed one where the version that was asked for is refused."""
    pools: tuple[Pool, ...]
    max_unavailable: int | None = 1
    """Members that may be down at once for changes; None for as many as are safe."""
    min_live_copies: int = 1
    sole_copy: SoleCopy = SoleCopy.MOVE
    paused: bool = False
    order: tuple[str, ...] = ()
    replace_on_shrink: bool = True
    """Whether a smaller volume or another class is done member by member, or refused."""
    delete_volumes: bool = False
    """Whether volumes of members that left are deleted."""
    refusals: tuple[Refusal, ...] = ()


class Bootstrap(Struct, frozen=True):
    """The one grant to form the cluster."""

    member: str
    volume: str
    formed: bool


class Observation(Struct, frozen=True):
    """One cluster at one instant."""

    name: str
    namespace: str
    uid: str
    generation: int
    desired: Desired
    members: tuple[Member, ...]
    database: Database | Unknown
    deployed_version: str = ""
    """The version last deployed everywhere; empty while the cluster is being created."""
    records: Mapping[str, Record] = {}
    since: Mapping[str, float] = {}
    """Since when each member has been in the state that the status names."""
    states: Mapping[str, str] = {}
    """The state that the status names for each member: what `since` speaks of."""
    bootstrap: Bootstrap | None = None
    bootstrap_again: bool = False
    """Whether a person accepted that a lost cluster is formed anew and empty."""
    settled_writes: bool = True
    """Whether every cache this was made from has caught up with the operator's own writes, or nothing is destroyed."""
    live: bool = False
    """Whether it was read from the API server for this very decision, and not from a cache.

    Planning makes the same plan either way: `Plan.destructive` says that it has to be made again from a live reading.
    """
