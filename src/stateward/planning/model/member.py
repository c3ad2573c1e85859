"""A member's Kubernetes objects, as far as planning reads them, and what the status remembers of it.

Times are seconds since the epoch, sizes are bytes.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward.planning.model.database import Unknown
from stateward.planning.model.phase import Phase
from stateward.planning.model.process import Process

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
    agent: str = ""
    """Version of the agent that its next pod gets; empty where it gets none."""


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
    gone_by: float = 0.0
    """When the time that it has to end is over, in seconds since the epoch; 0 where it was not told to end."""
    trouble: str = ""
    """What keeps it from running, in Kubernetes' words, such as `CrashLoopBackOff: …` or `Unschedulable: …`."""
    node: str = ""
    zone: str = ""
    node_ready: bool = True
    ip: str = ""
    beside: str = ""
    """Another version whose programs are in it, beside those of its image."""
    claims: bool = False
    """Whether its data is on the member's own claim, whether or not that claim was seen."""
    taints: tuple[str, ...] = ()
    """Keys of the taints of its node that keep new pods away or evict those that are there."""
    bootstrap: str = ""
    """The grant that was given to this very pod: empty or `granted`."""
    candidate: bool = False
    """Whether it waits for the grant to form the cluster when its volume is empty."""
    agent: bool = False
    """Whether an agent is process 1 of its container."""
    checksum: str = ""
    """Checksum of the configuration that its process is said to run with; empty where nothing is said."""
    phase: Phase = Phase.NONE
    """How far the restart of its process is, by its annotation."""
    begun: bool = False
    """Whether a restart was begun and its end not written down, also where somebody has taken its phase off."""
    strange_phase: str = ""
    """What the annotation says where that is no phase."""


class Claim(Struct, frozen=True):
    """A volume claim of a member; `capacity` is 0 until it is bound."""

    ref: Ref
    requested: int
    capacity: int
    storage_class: str
    expandable: bool | None = None
    """Whether its class allows expansion; None when that could not be read."""
    classless: bool = False
    """Whether the class that it names is none of those that there are."""
    terminating: bool = False
    left: bool = False
    """Whether it says that its member was replaced and has left it."""
    owner: str = ""
    """UID of the object that owns it, and with which it is deleted; empty where it is kept."""
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
    config_checksum: str = ""
    """Checksum of what is in that Secret; empty where it was made before checksums were written."""
    process: Process | Unknown | None = None
    """What the agent says about the process; None where it was not asked."""

    @property
    def alive(self) -> bool:
        """Whether it is meant to run: its StatefulSet asks for its pod."""
        return self.workload is not None and self.workload.replicas > 0 and not self.workload.terminating

    @property
    def present(self) -> bool:
        """Whether it has more than a volume that was kept."""
        return self.workload is not None or self.pod is not None


class Orphan(Struct, frozen=True):
    """A configuration Secret that belongs to no member that is there."""

    ref: Ref
    created: float


class Record(Struct, frozen=True):
    """What the status remembers about a member that has been in the cluster."""

    version: str
    """Newest version with which it has joined."""
    volume: str = ""
    """UID of the claim it joined with; empty when its data is ephemeral."""
    zone: str = ""
    """Zone that its pod was last seen in: where it counts as down while it has no pod."""
    address: str = ""
    """Address at which its process was last in the cluster, for databases that exclude by address."""


class Removal(Struct, frozen=True):
    """A member that is replaced: decided once, and kept in the status until nothing is left of it."""

    reason: str
    since: float
    automatic: bool = False
    """Whether the operator decided it, or (False) a person."""
    volume: str = ""
    """UID of its claim when it was decided; empty when it had none."""
    address: str = ""
    """Last known address of its process, for databases that exclude by address."""


class Changing(Struct, frozen=True):
    """When the data that a cluster's members use began to change, and when it last did, as the status has it."""

    since: float
    last: float
