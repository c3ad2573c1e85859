"""The state of the small world: the objects of members, the shards, and the recorded status."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import Plan
from tests.unit.planning.pools import GIB, PoolSpec


def roles(*, voting: bool, data: bool) -> frozenset[str]:
    """Return the roles as the labels of objects have them."""
    return frozenset(name for name, has in (("voting", voting), ("data", data)) if has)


@dataclass
class Claim:
    uid: str
    requested: int
    capacity: int
    storage_class: str
    left: bool = False
    earlier: bool = False
    state: bool = False
    data: bool = False
    version: str = ""
    made_for: frozenset[str] | None = None
    owner: str = ""
    grown: int = 0
    resized: float | None = None
    named: bool = False


@dataclass
class Pod:
    uid: str
    inputs: dict[str, str]
    version: str
    created: float
    voting: bool
    data: bool
    steps: int = 0
    running: bool = False
    ready: bool = False
    terminating: bool = False
    trouble: str = ""
    granted: bool = False
    candidate: bool = False
    zone: str = ""
    node: str = ""
    agent: bool = False
    phase: str = ""
    begun: bool = False
    said: str = ""
    """Checksum of the configuration that its process is said to run with."""
    process: str = "running"
    mounted: str = ""
    runs: str = ""
    given: dict[str, str] = field(default_factory=dict[str, str])
    """What the configuration that the process runs with was made from."""
    arrives: float = 0.0
    """When the newest configuration is in the pod."""
    starts: int = 1


@dataclass
class Workload:
    uid: str
    inputs: dict[str, str]
    version: str
    voting: bool
    data: bool
    candidate: bool
    replicas: int = 1
    observed: bool = False


@dataclass
class Body:
    """One member's objects, and what is written on its disk."""

    name: str
    pool: str
    ordinal: int
    workload: Workload | None = None
    pod: Pod | None = None
    claim: Claim | None = None
    config: dict[str, str] | None = None
    disk_version: str = ""


def labelled(part: Workload | Pod) -> frozenset[str]:
    """Return the roles by which an object is labelled."""
    only = {"voting_only"} if "votingOnly" in part.inputs else set[str]()
    return roles(voting=part.voting, data=part.data) | only


def made_for(body: Body) -> frozenset[str] | None:
    """Return the roles that a member's objects were made for; None if it is unknown."""
    found = [labelled(part) for part in (body.workload, body.pod) if part is not None]
    if body.claim is not None and body.claim.made_for is not None:
        found.append(body.claim.made_for)
    if not found:
        return None
    only = {"voting_only"} if all("voting_only" in made for made in found) else set[str]()
    return frozenset[str]().union(*found) - {"voting_only"} | only


@dataclass
class Shard:
    """One copy that is on a node: started, or coming."""

    member: str
    primary: bool = False
    started: bool = True
    target: str = ""


@dataclass
class Index:
    """One unit, and which disks hold all of its acknowledged writes."""

    name: str
    wanted: int
    copies: list[Shard] = field(default_factory=list[Shard])
    current: set[str] = field(default_factory=set[str])
    size: int = GIB
    flexible: bool = False
    missing_since: float = 0.0


class WorldObjects:
    """Everything that is, and what a scenario may set."""

    agents = False
    """Whether new pods have agents."""
    mute: frozenset[str] | set[str] = frozenset()
    """Members whose agents do not answer."""
    propagation = 0.0
    """Seconds that a configuration takes into a pod."""
    schedule: o.Schedule | None = None
    kept_stopped: frozenset[str] = frozenset()
    orphans: tuple[o.Orphan, ...] = ()
    first_restore: o.Restore | o.Unknown | None = None
    saved: o.Saved | o.Unknown | None = None
    asked: Mapping[str, o.Asked] | None = {}
    """By pool: what a PoolScale asks for."""
    work: Mapping[str, float] = {}
    """By pool: what its processors have to do, in percent of those of one member."""
    spread: Mapping[str, int] = {}
    """By pool: bytes that all its disks hold together, each the same part."""

    def __init__(self, *pools: PoolSpec, version: str = "2.17.1", zones: int = 0, **policy: object) -> None:
        self.pools = list(pools)
        self.version = version
        self.policy: dict[str, object] = policy
        self.zones = zones
        self.status = ClusterStatus()
        self.now = 1_000_000.0
        self.bodies: dict[str, Body] = {}
        self.indices: list[Index] = []
        self.identity = ""
        self.voters: set[str] = set()
        self.exclusions: frozenset[str] = frozenset()
        self.draining: frozenset[str] = frozenset()
        self.allocation = o.Allocation.ALL
        self.limited = False
        self.balance_paused = False
        self.answers = True
        self.may_form = True
        self.crash: set[tuple[str, str]] = set()
        """Inputs with which no pod starts."""
        self.hang: set[tuple[str, str]] = set()
        """Inputs with which a pod runs and never joins."""
        self.refused_inputs: set[tuple[str, str]] = set()
        """Inputs of which the API server makes no pod."""
        self.stumbling: set[str] = set()
        """Members whose containers are in back-off, whatever they are made from."""
        self.unschedulable: set[str] = set()
        self.scheduler_says = "0/4 nodes are available: 4 Insufficient memory."
        self.stuck: set[str] = set()
        """Members whose pods never finish stopping."""
        self.dead_nodes: set[str] = set()
        """Unreachable nodes: their pods do not serve, and never finish stopping."""
        self.taints: dict[str, list[str]] = {}
        """Keys of taints by node."""
        self.slots: int | None = None
        self.unprovided: set[str] = set()
        """Storage classes that provide no volumes."""
        self.expandable: bool | None = True
        self.disk_total = 0
        self.used: dict[str, int] = {}
        """Used bytes by member, where each disk is the member's volume."""
        self.settled_writes = True
        self.bootstrap_again = False
        self.refusals: tuple[o.Refusal, ...] = ()
        self.log: list[tuple[float, a.Action]] = []
        self.restarts: dict[str, int] = {}
        self.ids = count(1)
        self.hooks: list[Callable[[Plan], None]] = []
        self.leader = ""
        self.lossy = False
        """Whether losing data is what the scenario is about."""
