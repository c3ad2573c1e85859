"""What should be: the pools with every default filled in, the policy of changes, and what is refused."""

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum

from msgspec import Struct

from stateward.api.values.problem import MOST_PROBLEMS, Problem, short
from stateward.planning.model.member import Inputs
from stateward.planning.model.snapshots import SnapshotGate


class Effect(IntEnum):
    """How hard a change hits a member, from nothing to a new member in its place."""

    NONE = 0
    RELOAD = 1
    RESTART = 2
    RECREATE = 3
    REPLACE = 4


class ProtocolSwitch(StrEnum):
    """The progress of a change to a version whose processes do not talk to those of the deployed one."""

    NONE = ""
    """It is not on such a way, or has arrived: what is left changes like anything else."""
    BESIDE = "beside"
    """Each pod gets the programs of the new version beside those of its image, and keeps running the old ones."""
    SWITCHED = "switched"
    """All processes are to run the new programs, from one moment to the next."""


class SoleCopy(StrEnum):
    """What to do before a member goes down that holds the only copy of a unit."""

    MOVE = "Move"
    WAIT = "Wait"
    INTERRUPT = "Interrupt"


class Surge(StrEnum):
    """Whether a new member has to join before the one that it replaces leaves."""

    REQUIRED = "Required"
    PREFERRED = "Preferred"


class Growth(Struct, frozen=True):
    """When, by how much and up to which size the operator grows the volumes of a pool."""

    when: int
    """How full the fullest disk is when they grow, in percent."""
    by: int
    """How much larger they become at once, in percent of their size."""
    limit: int
    """Their largest size, in bytes."""


class Measure(StrEnum):
    """What a rule of scaling looks at, as the mean of a pool's members."""

    DISK = "Disk"
    """Used disk in percent."""
    CPU = "CPU"
    """Use of the processors in percent."""
    SHARDS = "Shards"
    """Copies of units on a member."""


class ScalingRule(Struct, frozen=True):
    """Above which number a pool grows, and below which one it shrinks; `below` is less than `above`."""

    measure: Measure
    above: int
    below: int


class Scaling(Struct, frozen=True):
    """Within which limits the number of a pool's members changes by itself, and by what."""

    lowest: int
    highest: int
    rules: tuple[ScalingRule, ...] = ()
    """Without rules, a PoolScale determines the number."""
    grow_after: float = 600.0
    """Seconds for which a rule has to ask for more members without a break."""
    shrink_after: float = 3600.0
    """Seconds for which all rules have to allow fewer members without a break."""

    def within(self, replicas: int) -> int:
        """Return the number of members that is nearest within the limits."""
        return max(self.lowest, min(self.highest, replicas))


class Pool(Struct, frozen=True):
    """The desired state of a pool."""

    name: str
    replicas: int
    voting: bool
    data: bool
    ephemeral: bool
    inputs: Inputs
    """Inputs of its members at the desired version."""
    held_inputs: Inputs
    """The same at the version that was last deployed: for members that are not next in the upgrade."""
    effects: Mapping[str, Effect]
    """Effect by first part of an input's name (`config`, `template`, `version` …); an unlisted part recreates."""
    volume_size: int = 0
    """The size that the spec asks for, in bytes; with `growth` the size to begin with."""
    grown_size: int = 0
    """The size to which the operator has grown volumes of the pool, in bytes; 0 if it has grown none."""
    growth: Growth | None = None
    scaling: Scaling | None = None
    """Within which limits `replicas` changes by itself; None if it does not."""
    storage_class: str | None = None
    coordinated: frozenset[str] = frozenset()
    """First parts of names of inputs that members before and after cannot talk across: all change together."""
    crossings: Mapping[ProtocolSwitch, Inputs] = {}
    """Inputs during a change to a version whose processes do not talk to those of the deployed one."""
    retained: frozenset[str] = frozenset()
    """Names of inputs that a member keeps for its life: its objects are written with them, whatever the spec asks for.
    """
    kinds: Mapping[frozenset[str], Inputs] = {}
    """The retained inputs of a member that is made again, by the roles that its volume was made for."""
    tier: int = 0
    """Tiers change from the lowest number to the highest: frozen, cold, warm, hot."""
    electable: bool = True
    """Whether its members can be elected, if they vote: others vote and never lead."""

    @property
    def elected(self) -> bool:
        """Whether its members vote and can be elected."""
        return self.voting and self.electable

    @property
    def only_votes(self) -> bool:
        """Whether its members vote and are never elected."""
        return self.voting and not self.electable

    @property
    def wanted_size(self) -> int:
        """The size of its volumes now, in bytes: what has grown by itself does not shrink by itself."""
        return max(self.volume_size, self.grown_size)


class Refusal(Struct, frozen=True):
    """A request that is refused: the field, the reason, and whether the rest of the spec applies."""

    subject: str
    reason: str
    message: str
    everything: bool = True
    """Whether the whole edit is held back, or (False) only its subject, such as the version."""


def refusals_of(problems: Sequence[Problem], reason: str) -> tuple[Refusal, ...]:
    """Return what is wrong with a spec as refusals: the first problems, and how many more there are."""
    first, more = problems[:MOST_PROBLEMS], len(problems) - MOST_PROBLEMS
    told = [Refusal(short(each.path), reason, short(str(each))) for each in first]
    if more > 0:
        text = f"spec: there are {more} more problems, and `kubectl stateward validate` shows all of them"
        told.append(Refusal("spec", reason, text))
    return tuple(told)


class Replacement(Struct, frozen=True):
    """Which members are replaced: automatically when they are missing, and by the user's request. Times in seconds."""

    enabled: bool = False
    after: float = 1800.0
    """How long a member has to be missing."""
    max_concurrent: int = 1
    per_zone: bool = False
    """Whether all missing members of one zone are replaced together, and none of another zone in that time."""
    taints: Mapping[str, float] = {}
    """How long a member has to be on a node with a taint, by the taint's key."""
    max_tainted: int = 1
    """In how many fault domains nodes may have these taints so that a replacement because of one begins."""
    replace: frozenset[str] = frozenset()
    undrained: frozenset[str] = frozenset()
    """Members to replace without moving their data away first."""
    accepted: frozenset[str] = frozenset()
    """Those for which a person has accepted that the last copy of something may be lost."""
    keep: frozenset[str] = frozenset()
    """Never replaced, and taken back when they are being replaced."""


class Desired(Struct, frozen=True):
    """What should be, with every default filled in."""

    version: str
    """The version to run; the deployed one if the requested version is refused."""
    pools: tuple[Pool, ...]
    connection_secret: str = ""
    """Name of the Secret with which clients find the database and log in; empty if they need none."""
    max_unavailable: int | None = 1
    """Members that may be down at once for changes; None for as many as are safe."""
    unavailable_percent: int | None = None
    """The percentage of all members that `max_unavailable` comes from; None if it is a number of the spec."""
    min_live_copies: int = 1
    sole_copy: SoleCopy = SoleCopy.MOVE
    surge: Surge = Surge.REQUIRED
    wait_between_removals: float = 0.0
    """Seconds between the release of one member and the next."""
    paused: bool = False
    from_snapshot: str = ""
    """The snapshot with which a new cluster begins, as a clause such as `nightly-* of backups`; empty without one."""
    snapshot_gate: SnapshotGate | None = None
    """The snapshot that an upgrade needs before it begins; None if it needs none."""
    stateless: Inputs = {}
    """The inputs of members that never hold data, although the database excludes them like those that do."""
    formed_by_word: bool = False
    """Whether a command creates the database, rather than a first member with a bootstrap grant."""
    order: tuple[str, ...] = ()
    replace_on_shrink: bool = True
    """Whether a smaller volume or another class replaces member by member, or is refused."""
    in_place: bool = True
    """Whether a process is restarted in its pod if that is enough."""
    agent: str = ""
    """Version of the agent that new pods get; empty if it is unknown, or if they get none."""
    template_revision: int = 0
    """Revision of the operator's own part of pod templates, as new pods get it; 0 if it is unknown."""
    delete_volumes: bool = False
    """Whether volumes of members that left are deleted."""
    own_volumes: bool | None = None
    """Whether volumes are deleted with the cluster resource; None if that is unknown."""
    replacement: Replacement = Replacement()
    refusals: tuple[Refusal, ...] = ()


def unavailable(desired: Desired, members: int) -> int | None:
    """Return how many of so many members may be down at once, at least one; a percentage is rounded down."""
    share = desired.unavailable_percent
    return desired.max_unavailable if share is None else max(1, members * share // 100)
