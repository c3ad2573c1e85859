"""A member's Kubernetes objects, as far as planning reads them, and what the status remembers of it.

Times are seconds since the epoch, sizes are bytes.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward.planning.model.database import Unknown
from stateward.planning.model.phase import Phase
from stateward.planning.model.process import Process

Inputs = Mapping[str, str]
"""The inputs of a member: names such as `version`, `config/path.repo`, `template/containers`, each with a digest.

They contain only what the user asked for, never what a template of Stateward adds: a new Stateward restarts no member.
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
    """Whether the StatefulSet controller has observed the latest template."""
    terminating: bool = False
    released: bool = False
    """Whether the operator scaled it to zero, and nothing has changed it since; False if someone else did."""
    agent: str = ""
    """Version of the agent that its next pod gets; empty if it gets none."""
    revision: int = 0
    """Revision of the operator's own part of the template; 0 if an operator without revisions wrote it."""


class Pod(Struct, frozen=True):
    """The pod of a member."""

    ref: Ref
    inputs: Inputs
    version: str
    created: float
    ready: bool
    running: bool
    """Whether the database's container is running now."""
    served: bool = False
    """Whether its kubelet reported the database's container as ready last, also if the node is lost since."""
    terminating: bool = False
    gone_by: float = 0.0
    """When its grace period ends, in seconds since the epoch; 0 if it was not deleted."""
    grace: float = 0.0
    """Seconds of this grace period."""
    trouble: str = ""
    """What keeps it from running, in Kubernetes' words, such as `CrashLoopBackOff: …` or `Unschedulable: …`."""
    node: str = ""
    zone: str = ""
    node_ready: bool = True
    ip: str = ""
    roles: str = ""
    """Its roles label, by which disruption budgets select it; empty for a pod without one."""
    beside: str = ""
    """Another version whose programs are in it, beside those of its image."""
    claims: bool = False
    """Whether its data is on the member's own claim, even if that claim was not observed."""
    taints: tuple[str, ...] = ()
    """Keys of the taints of its node that keep new pods away or evict existing ones."""
    bootstrap: str = ""
    """The grant that was given to this very pod: empty or `granted`."""
    candidate: bool = False
    """Whether it waits for the grant to form the cluster if its volume is empty."""
    agent: bool = False
    """Whether an agent is process 1 of its container."""
    image: str = ""
    """The image of the database's container; empty if the pod has no such container."""
    agent_version: str = ""
    """Version of Stateward whose agent it was created with."""
    revision: int = 0
    """Revision of the operator's own part of the template from which it was created."""
    checksum: str = ""
    """Recorded checksum of the configuration that its process runs with; empty without a record."""
    phase: Phase = Phase.NONE
    """How far the restart of its process is, by its annotation."""
    begun: bool = False
    """Whether a restart was started and its end not recorded, even if its phase annotation was removed."""
    ended: float = 0.0
    """When one of its containers last ended before it was started again, in seconds since the epoch; 0 if none has."""
    strange_phase: str = ""
    """The annotation's value if it is not a phase."""


class Claim(Struct, frozen=True):
    """A volume claim of a member; `capacity` is 0 until it is bound."""

    ref: Ref
    requested: int
    capacity: int
    storage_class: str
    expandable: bool | None = None
    """Whether its class allows expansion; None if that could not be read."""
    classless: bool = False
    """Whether the class that it names does not exist."""
    terminating: bool = False
    left: bool = False
    """Whether it is marked as left by a replaced member."""
    earlier: bool = False
    """Whether it is older than the cluster resource: of a deleted cluster with this name, or written by a user."""
    state: bool = False
    """Whether it is marked as holding the state of a formed cluster, or perhaps holding it."""
    data: bool = False
    """Whether it is marked as holding data of a formed cluster, and not its state."""
    version: str = ""
    """Newest version with which its member has joined, by its mark; empty without one."""
    owner: str = ""
    """UID of the object that owns it, and with which it is deleted; empty if it is kept."""
    message: str = ""
    """The volume controller's message about a resize that does not continue."""
    grown: int = 0
    """The size to which the operator has grown it by itself, in bytes; 0 if it has not."""
    resized: float | None = None
    """When the operator last asked for another size; None if it never did."""
    named: bool = False
    """Whether it names its volume: it has or had that one, or is to get it."""

    @property
    def empty(self) -> bool:
        """Whether nothing was ever written to its volume: it has and had none, and names none.

        The disaster this prevents: after the loss of a Kubernetes cluster the claims of all managers but one are
        restored, each with the name of its volume. They are not bound yet, and a new database is formed beside them.
        """
        return not self.capacity and not self.named


class Member(Struct, frozen=True):
    """One database node with a stable identity, and those of its objects that exist."""

    name: str
    pool: str
    ordinal: int
    workload: Workload | None = None
    pod: Pod | None = None
    claim: Claim | None = None
    config: Inputs | None = None
    """Inputs of the configuration Secret; None without a Secret."""
    config_checksum: str = ""
    """Checksum of that Secret's content; empty if it was created before checksums were written."""
    process: Process | Unknown | None = None
    """The agent's answer about the process; None if it was not asked."""
    made_for: frozenset[str] | None = None
    """The roles that its StatefulSet, pod and volume claim were made for, by their labels: `data`, `voting`, and
    `voting_only` if it is never elected; None if no object has the label, so that they are unknown.
    """

    def was_made(self, role: str) -> bool:
        """Return whether an object of it was made for a role."""
        return self.made_for is not None and role in self.made_for

    @property
    def alive(self) -> bool:
        """Whether it should run: its StatefulSet asks for its pod."""
        return self.workload is not None and self.workload.replicas > 0 and not self.workload.terminating

    @property
    def orphaned(self) -> bool:
        """Whether its pod runs on although its StatefulSet was deleted."""
        return self.workload is None and self.pod is not None and not self.pod.terminating

    @property
    def unreleased(self) -> bool:
        """Whether it runs until the operator ends it: its StatefulSet asks for its pod, or was deleted without it."""
        return self.alive or self.orphaned

    @property
    def present(self) -> bool:
        """Whether it has more than a kept volume."""
        return self.workload is not None or self.pod is not None


class DiskSample(Struct, frozen=True):
    """How many bytes of the fullest disk of a pool were used at a time."""

    at: float
    used: int


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
    pod: str = ""
    """UID of the pod it joined with, if that keeps its data itself; empty if it does not, or if that is unknown."""
    zone: str = ""
    """Zone in which its pod was last observed: it counts as down there while it has no pod."""
    address: str = ""
    """Address at which its process was last in the cluster, for databases that exclude by address."""

    def same_volume(self, claim: Claim | None) -> bool:
        """Return whether this is the claim it joined with, and it stays."""
        return claim is not None and not claim.terminating and self.volume == claim.ref.uid

    def other_volume(self, claim: Claim | None) -> bool:
        """Return whether there is a claim, and it is another one than that it joined with."""
        return claim is not None and self.volume not in ("", claim.ref.uid)

    def lost_volume(self, claim: Claim | None) -> bool:
        """Return whether the claim it joined with is gone, about to be deleted, or another one now."""
        return self.volume != "" and not self.same_volume(claim)


class Removal(Struct, frozen=True):
    """A member that is replaced: decided once, and kept in the status until nothing is left of it."""

    reason: str
    since: float
    automatic: bool = False
    """Whether the operator decided it, or (False) the user."""
    volume: str = ""
    """UID of its claim at the time of the decision; empty if it had none."""
    address: str = ""
    """Last known address of its process, for databases that exclude by address."""


class Changing(Struct, frozen=True):
    """When the data that a cluster's members use began to change, and when it last did, as the status has it."""

    since: float
    last: float
