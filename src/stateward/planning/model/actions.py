"""The actions of a plan. Every action is idempotent.

They run in the order of the plan, and the first failure ends the run: a pod is deleted right after its allocation was
limited, and not at all if that failed.

An action that changes Kubernetes, the database or an agent runs only from a plan that was made from live reads
(`needs_live`), and names the exact objects (UID and resourceVersion). The few kinds that may run on cached reads say
why. A command to the database is as dangerous as the deletion of a pod: with the size from an old cache, desired
members are drained, or data moves back to members that are about to leave.

The opposite disaster: a cache that lags behind keeps a process stopped, or an allocation limited. So an action that
only ends something never waits for the caches (`ends`): it is a reason to read live at once. RestoreAllocation does not
even need that, because the database's own allocation is always safe. Drain and ExcludeVoters name the full set of
members: they only end something if they remove members from it and add none (`lifts`). Lifting on an old cache is as
wrong as setting, so this needs live reads too.
"""

from typing import ClassVar

from msgspec import Struct

from stateward.planning.model.observation import Allocation, Inputs, ProtocolSwitch, Ref
from stateward.planning.model.phase import Phase


class Action(Struct, frozen=True, tag=True):
    """Base of all actions; `why` is a clause that completes the sentence about it."""

    needs_live: ClassVar[bool] = True
    """Whether it may run only from a plan that was made from live reads."""
    why: str

    @property
    def ends(self) -> bool:
        """Whether it only ends or reverts something."""
        return False


class Create(Action, frozen=True):
    """Create the member's configuration Secret, claim and StatefulSet, or scale an existing one up again."""

    # It reads the API server itself, and a superfluous member leaves again.
    needs_live: ClassVar[bool] = False
    member: str
    pool: str
    ordinal: int
    version: str
    crossing: ProtocolSwitch = ProtocolSwitch.NONE
    grown_size: int = 0
    """The size of its new volume in bytes, if the pool's volumes have grown by themselves; 0 for that of the spec."""
    keeps: Inputs | None = None
    """The inputs that only a new member can change, as its kept volume needs them; None if it is created as a new one.
    """


class Stage(Action, frozen=True):
    """Write the member's new configuration and template, from which its next pod is created."""

    # It overwrites: an old cache has the previous spec, and a process is about to start with it.
    member: str
    pool: str
    version: str
    crossing: ProtocolSwitch = ProtocolSwitch.NONE
    keeps: Inputs | None = None
    """The inputs that only a new member can change, as this one has them; None if it is written as a new one."""
    again: bool = False
    """Whether it was written already, and something else is in the pod: what others have added is removed."""


class DeletePod(Action, frozen=True):
    """Delete the member's pod; its StatefulSet creates the next one."""

    member: str
    pod: Ref


class SetPhase(Action, frozen=True):
    """Write down how far the restart of the member's process is, on its very pod."""

    # It destroys nothing by itself, but a phase from an old cache would start a restart again.
    member: str
    pod: Ref
    phase: Phase

    @property
    def ends(self) -> bool:
        """Whether a stopped process is to start again."""
        return self.phase in (Phase.START, Phase.START_COORDINATED)


class StopProcess(Action, frozen=True):
    """Have the agent in the pod at this address stop the member's process; the pod stays."""

    member: str
    pod: Ref
    address: str


class StartProcess(Action, frozen=True):
    """Have the agent start the member's process with exactly this configuration (empty: with what is mounted)."""

    # It destroys nothing, but a process that starts before its phase is recorded would be stopped once more.
    member: str
    address: str
    checksum: str

    @property
    def ends(self) -> bool:
        """Whether it only ends something: always."""
        return True


class FinishRestart(Action, frozen=True):
    """End a restart: take the phase off the pod, and say what its process now runs with."""

    # It destroys nothing, but the user may have requested another restart in between.
    member: str
    pod: Ref
    inputs: Inputs
    checksum: str

    @property
    def ends(self) -> bool:
        """Whether it only ends something: always."""
        return True


class RecordData(Action, frozen=True):
    """Say on the member's pod which data it uses: what was not known of it, and is no change."""

    # The API server refuses it on a pod that has changed since the read.
    needs_live: ClassVar[bool] = False
    member: str
    pod: Ref
    inputs: Inputs


class ClearSchedule(Action, frozen=True):
    """Remove the request for a restart from the cluster, because it is recorded on its pods."""

    # If the writes to the pods were left out, the request would be lost.


class ClearConsent(Action, frozen=True):
    """Remove the consent to form a new cluster from the cluster resource: it was used, or is no longer needed.

    The disaster this prevents: the consent is still there a year later, when volumes are lost that could have been
    recovered.
    """


class DeleteConfiguration(Action, frozen=True):
    """Delete a configuration Secret that belongs to no member any more."""

    secret: Ref


class Release(Action, frozen=True):
    """Let a member go that holds nothing which is not elsewhere: its StatefulSet is scaled to zero."""

    member: str
    workload: Ref


class DeleteMember(Action, frozen=True):
    """Delete the StatefulSet and the configuration of a member whose pod is gone."""

    member: str
    workload: Ref | None


class DeleteVolume(Action, frozen=True):
    """Delete the claim of a member that left, or an empty one that its pool no longer wants."""

    member: str
    claim: Ref


class GrowVolume(Action, frozen=True):
    """Request another size: a larger one, or the current one if the volume has not grown yet."""

    # A size that was reverted in between would stay: no volume can shrink.
    member: str
    claim: Ref
    size: int
    at: float = 0.0
    """When it was decided: providers limit how often a volume changes."""
    by_itself: bool = False
    """Whether the size is more than the spec asks for: it is recorded on the claim, and never counts as too large."""


class MarkVolume(Action, frozen=True):
    """Mark on a claim whether its member has left it: no new member starts with such a volume."""

    # Every plan decides it again, and a plan from better reads reverts it.
    needs_live: ClassVar[bool] = False
    member: str
    claim: Ref
    left: bool


class MarkState(Action, frozen=True):
    """Mark on a claim that its volume holds the state of a formed cluster, or may hold it from now on, or its data.

    The status is deleted with the cluster resource. The mark is not, so a cluster that is created again knows of it,
    and of the version that has written the data.
    """

    # It only makes a later cluster more careful.
    needs_live: ClassVar[bool] = False
    member: str
    claim: Ref
    only_data: bool = False
    """Whether it holds data alone: its member has no vote."""
    version: str = ""
    """The database version with which its member has joined; empty if it has not yet."""
    again: bool = False
    """Whether the claim has the mark, and only the version is new."""


class ForgetState(Action, frozen=True):
    """Take the mark off a claim: the volume has no part in the cluster's state any more, because others vote.

    The disaster this prevents: a volume that once had a vote counts as that of a manager forever. No cluster is formed
    beside it, although it can elect none.
    """

    # The next cluster is less careful with it.
    member: str
    claim: Ref
    data: bool
    """Whether it holds data, and is marked so instead."""


class RetainVolume(Action, frozen=True):
    """Take the cluster off the owners of a claim, so that the volume stays when the cluster is deleted."""

    # Keeping a volume is always safe; on an old cache the next plan reverts it.
    needs_live: ClassVar[bool] = False
    member: str
    claim: Ref


class OwnVolume(Action, frozen=True):
    """Make the cluster the owner of a claim, so that the volume is deleted with the cluster."""

    # On an old cache it would undo the user's request to keep the volume.
    member: str
    claim: Ref


class RecordRemoval(Action, frozen=True):
    """Write down that a member is replaced; the status that is written at the end of the round is the record."""

    # The status is written only onto the cluster resource that was read.
    needs_live: ClassVar[bool] = False
    member: str


class CancelRemoval(Action, frozen=True):
    """Take a member off the list of those that are replaced: as `RecordRemoval`."""

    # The status is written only onto the cluster resource that was read.
    needs_live: ClassVar[bool] = False
    member: str


class RecordBootstrap(Action, frozen=True):
    """Write down which member, with which volume, may form the cluster: before it is allowed to."""

    # It destroys nothing, but it is recorded once for the cluster's life: a volume from an old cache would stay in it.
    member: str
    volume: str


class GrantBootstrap(Action, frozen=True):
    """Allow this very pod to form the cluster."""

    member: str
    pod: Ref


class RestoreSnapshot(Action, frozen=True):
    """Create the SearchRestore with which a new cluster begins."""

    # An old cache may not show that the cluster has begun long ago; what its users deleted since would come back.


class CreateDatabase(Action, frozen=True):
    """Create an empty database, after the database itself has reported that it was never created."""

    # It would destroy an existing database.


class ConfigureDatabase(Action, frozen=True):
    """Change settings of the database for its own sake: its redundancy and its coordinators."""


class LimitAllocation(Action, frozen=True):
    """Keep the database from rebuilding elsewhere the copies of members that will be back at once."""

    allocation: Allocation
    members: frozenset[str] = frozenset()
    """The members concerned; empty if no remaining member needs the setting."""


class RestoreAllocation(Action, frozen=True):
    """Give the allocation back the value it had."""

    # The database's own allocation is always safe, and shards that are not reallocated are not.
    needs_live: ClassVar[bool] = False

    @property
    def ends(self) -> bool:
        """Whether it only ends something: always."""
        return True


class ResumeBalancing(Action, frozen=True):
    """Let the database rebalance copies again, which `MoveCopies` prevents."""

    # The database's own rebalancing is always safe.
    needs_live: ClassVar[bool] = False

    @property
    def ends(self) -> bool:
        """Whether it only ends something: always."""
        return True


class Flush(Action, frozen=True):
    """Write memory to disk, so that recovery after the restart is short."""


class Drain(Action, frozen=True):
    """Make exactly these members the ones that data moves away from."""

    members: frozenset[str]
    lifts: bool = False
    """Whether it removes members from the set, and adds none."""

    @property
    def ends(self) -> bool:
        """Whether it only removes members from the set."""
        return self.lifts


class ExcludeVoters(Action, frozen=True):
    """Make exactly these members the ones without a vote."""

    members: frozenset[str]
    lifts: bool = False
    """Whether it removes members from the set, and adds none."""

    @property
    def ends(self) -> bool:
        """Whether it only removes members from the set."""
        return self.lifts


class Move(Struct, frozen=True):
    """One copy of a unit, from one member to another."""

    unit: str
    origin: str
    target: str
    others: tuple[str, ...] = ()
    """Members to try in this order if the database refuses the target."""


class MoveCopies(Action, frozen=True):
    """Move single copies away from a member that is about to stop, and prevent the database from moving them back.

    The disaster this prevents: of two members the freed one then has fewer copies, the database moves one back to
    rebalance before the next plan sees the member free, and no restart ever starts.
    """

    moves: tuple[Move, ...]
