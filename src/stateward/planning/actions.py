"""What a plan may ask for. Every action is idempotent: doing it twice is doing it once.

They are carried out in the order of the plan, and what follows a failed one is not carried out: a pod is deleted right
after its allocation was limited, and not at all if that failed.

Actions that can cost data or availability are `destructive`: they are carried out only from a plan made of live reads,
and name the exact objects (UID and resourceVersion) that they mean.
"""

from typing import ClassVar

from msgspec import Struct

from stateward.planning.observation import Allocation, Crossing, Inputs, Ref
from stateward.planning.phase import Phase


class Action(Struct, frozen=True, tag=True):
    """Base of all actions; `why` is a clause that completes the sentence about it."""

    destructive: ClassVar[bool] = False
    why: str


class Create(Action, frozen=True):
    """Make the member's configuration Secret, claim and StatefulSet; one that was scaled to zero is scaled up again."""

    member: str
    pool: str
    ordinal: int
    version: str
    crossing: Crossing = Crossing.NONE


class Stage(Action, frozen=True):
    """Write the member's new configuration and template, so that its next pod is made from them."""

    member: str
    pool: str
    version: str
    crossing: Crossing = Crossing.NONE


class DeletePod(Action, frozen=True):
    """Delete the member's pod; its StatefulSet makes the next one."""

    destructive: ClassVar[bool] = True
    member: str
    pod: Ref


class SetPhase(Action, frozen=True):
    """Write down how far the restart of the member's process is, on its very pod."""

    # It destroys nothing by itself, but a phase that is read off an old cache would begin a restart again.
    destructive: ClassVar[bool] = True
    member: str
    pod: Ref
    phase: Phase


class StopProcess(Action, frozen=True):
    """Have the agent in the pod at this address stop the member's process; the pod stays."""

    destructive: ClassVar[bool] = True
    member: str
    pod: Ref
    address: str


class StartProcess(Action, frozen=True):
    """Have the agent start the member's process with exactly this configuration (empty: with what is mounted)."""

    # It destroys nothing, but started before its phase is written down, the process would be stopped once more.
    destructive: ClassVar[bool] = True
    member: str
    address: str
    checksum: str


class FinishRestart(Action, frozen=True):
    """End a restart: take the phase off the pod, and say what its process now runs with."""

    # It destroys nothing, but a person may have asked for another restart meanwhile.
    destructive: ClassVar[bool] = True
    member: str
    pod: Ref
    inputs: Inputs
    checksum: str


class NoteData(Action, frozen=True):
    """Say on the member's pod which data it uses: what was not known of it, and is no change."""

    member: str
    pod: Ref
    inputs: Inputs


class ClearSchedule(Action, frozen=True):
    """Take the request for a restart off the cluster, since it stands on its pods."""

    # With what was to be written onto the pods left out, the request would be lost.
    destructive: ClassVar[bool] = True


class ClearConsent(Action, frozen=True):
    """Take the leave to form the cluster anew off the cluster resource: it was used, or nothing needs it any more.

    The disaster this prevents: it is still there a year later, when volumes are lost that could have been found again.
    """

    destructive: ClassVar[bool] = True


class CollectConfiguration(Action, frozen=True):
    """Delete a configuration Secret that belongs to no member any more."""

    destructive: ClassVar[bool] = True
    secret: Ref


class Release(Action, frozen=True):
    """Let a member go that holds nothing which is not elsewhere: its StatefulSet is scaled to zero."""

    destructive: ClassVar[bool] = True
    member: str
    workload: Ref


class Forget(Action, frozen=True):
    """Delete the StatefulSet and the configuration of a member whose pod is gone."""

    destructive: ClassVar[bool] = True
    member: str
    workload: Ref | None


class DeleteVolume(Action, frozen=True):
    """Delete the claim of a member that left."""

    destructive: ClassVar[bool] = True
    member: str
    claim: Ref


class GrowVolume(Action, frozen=True):
    """Ask for another size: a larger one, or the one it still has while it has not grown yet."""

    member: str
    claim: Ref
    size: int


class MarkVolume(Action, frozen=True):
    """Say on a claim whether its member has left it: no new member starts with one that was left."""

    member: str
    claim: Ref
    left: bool


class RetainVolume(Action, frozen=True):
    """Take the cluster off the owners of a claim, so that the volume stays when the cluster is deleted."""

    member: str
    claim: Ref


class OwnVolume(Action, frozen=True):
    """Make the cluster the owner of a claim, so that the volume is deleted with the cluster."""

    # It destroys nothing by itself, but from an old cache it would undo that a person has asked to keep the volume.
    destructive: ClassVar[bool] = True
    member: str
    claim: Ref


class RecordRemoval(Action, frozen=True):
    """Write down that a member is replaced; the status that is written at the end of the round is the record."""

    member: str


class TakeBack(Action, frozen=True):
    """Take a member off the list of those that are replaced: as `RecordRemoval`."""

    member: str


class RecordBootstrap(Action, frozen=True):
    """Write down which member, with which volume, may form the cluster: before it is allowed to."""

    # It destroys nothing, but it is said once in a cluster's life: a volume read off an old cache would stay in it.
    destructive: ClassVar[bool] = True
    member: str
    volume: str


class GrantBootstrap(Action, frozen=True):
    """Allow this very pod to form the cluster."""

    destructive: ClassVar[bool] = True
    member: str
    pod: Ref


class Form(Action, frozen=True):
    """Tell a database that says of itself that nothing was ever made in it to make itself, empty."""

    # It would destroy what is there, if anything were.
    destructive: ClassVar[bool] = True


class Tend(Action, frozen=True):
    """Tell the database what it should be told for its own sake: how much it keeps, and who its coordinators are."""


class LimitAllocation(Action, frozen=True):
    """Keep the database from rebuilding elsewhere the copies of members that will be back at once."""

    allocation: Allocation
    members: frozenset[str] = frozenset()
    """These members; none where nobody stays that could be told of them."""


class RestoreAllocation(Action, frozen=True):
    """Give the allocation back the value it had."""


class Flush(Action, frozen=True):
    """Write memory to disk, so that recovery after the restart is short."""


class Drain(Action, frozen=True):
    """Make these members, and no others, the ones that data is moved away from."""

    members: frozenset[str]


class ExcludeVoters(Action, frozen=True):
    """Make these members, and no others, the ones without a vote."""

    members: frozenset[str]


class Move(Struct, frozen=True):
    """One copy of a unit, from one member to another."""

    unit: str
    origin: str
    target: str


class MoveCopies(Action, frozen=True):
    """Move single copies away from a member that is about to go down."""

    moves: tuple[Move, ...]
