"""What a plan may ask for. Every action is idempotent: doing it twice is doing it once.

They are carried out in the order of the plan, and what follows a failed one is not carried out: a pod is deleted right
after its allocation was limited, and not at all if that failed.

Whatever an action changes, in Kubernetes, in the database or by an agent, it is carried out only from a plan that was
made of live reads (`needs_live`), and names the exact objects (UID and resourceVersion) that it means. The few kinds
that may go out on what the caches show say why. A command to the database is no less than the deletion of a pod: by the
size that an old cache shows, members are drained that are wanted, or data goes back to those that are about to go.

The disaster on the other side: a cache that lags keeps a process stopped, or an allocation limited. So what only ends
something never waits for the caches (`ends`): it is the reason to read live at once. RestoreAllocation needs not even
that, as what the database does by itself is always safe. Drain and ExcludeVoters say for whom something holds, and for
no others: they only end something where they take members off and add none (`lifts`). By an old cache to lift is as
wrong as to begin, so that needs live reads, too.
"""

from typing import ClassVar

from msgspec import Struct

from stateward.planning.model.observation import Allocation, Crossing, Inputs, Ref
from stateward.planning.model.phase import Phase


class Action(Struct, frozen=True, tag=True):
    """Base of all actions; `why` is a clause that completes the sentence about it."""

    needs_live: ClassVar[bool] = True
    """Whether only a plan that was made of live reads may have it carried out."""
    why: str

    @property
    def ends(self) -> bool:
        """Whether it only ends, or takes back, what was begun."""
        return False


class Create(Action, frozen=True):
    """Make the member's configuration Secret, claim and StatefulSet; one that was scaled to zero is scaled up again."""

    # It asks the API server itself what is there, and one member too many leaves again.
    needs_live: ClassVar[bool] = False
    member: str
    pool: str
    ordinal: int
    version: str
    crossing: Crossing = Crossing.NONE


class Stage(Action, frozen=True):
    """Write the member's new configuration and template, so that its next pod is made from them."""

    # It is written over what is there: an old cache shows the spec of before, and a process is about to start with it.
    member: str
    pool: str
    version: str
    crossing: Crossing = Crossing.NONE
    keeps: Inputs | None = None
    """The inputs that only a new member can change, as this one has them; None where it is written as a new one."""


class DeletePod(Action, frozen=True):
    """Delete the member's pod; its StatefulSet makes the next one."""

    member: str
    pod: Ref


class SetPhase(Action, frozen=True):
    """Write down how far the restart of the member's process is, on its very pod."""

    # It destroys nothing by itself, but a phase that is read off an old cache would begin a restart again.
    member: str
    pod: Ref
    phase: Phase

    @property
    def ends(self) -> bool:
        """Whether a process that is stopped is to start again."""
        return self.phase in (Phase.START, Phase.START_COORDINATED)


class StopProcess(Action, frozen=True):
    """Have the agent in the pod at this address stop the member's process; the pod stays."""

    member: str
    pod: Ref
    address: str


class StartProcess(Action, frozen=True):
    """Have the agent start the member's process with exactly this configuration (empty: with what is mounted)."""

    # It destroys nothing, but started before its phase is written down, the process would be stopped once more.
    member: str
    address: str
    checksum: str

    @property
    def ends(self) -> bool:
        """Whether it only ends something: always."""
        return True


class FinishRestart(Action, frozen=True):
    """End a restart: take the phase off the pod, and say what its process now runs with."""

    # It destroys nothing, but a person may have asked for another restart meanwhile.
    member: str
    pod: Ref
    inputs: Inputs
    checksum: str

    @property
    def ends(self) -> bool:
        """Whether it only ends something: always."""
        return True


class NoteData(Action, frozen=True):
    """Say on the member's pod which data it uses: what was not known of it, and is no change."""

    # The API server refuses it on a pod that has changed since it was read.
    needs_live: ClassVar[bool] = False
    member: str
    pod: Ref
    inputs: Inputs


class ClearSchedule(Action, frozen=True):
    """Take the request for a restart off the cluster, since it stands on its pods."""

    # With what was to be written onto the pods left out, the request would be lost.


class ClearConsent(Action, frozen=True):
    """Take the leave to form the cluster anew off the cluster resource: it was used, or nothing needs it any more.

    The disaster this prevents: it is still there a year later, when volumes are lost that could have been found again.
    """


class CollectConfiguration(Action, frozen=True):
    """Delete a configuration Secret that belongs to no member any more."""

    secret: Ref


class Release(Action, frozen=True):
    """Let a member go that holds nothing which is not elsewhere: its StatefulSet is scaled to zero."""

    member: str
    workload: Ref


class Forget(Action, frozen=True):
    """Delete the StatefulSet and the configuration of a member whose pod is gone."""

    member: str
    workload: Ref | None


class DeleteVolume(Action, frozen=True):
    """Delete the claim of a member that left."""

    member: str
    claim: Ref


class GrowVolume(Action, frozen=True):
    """Ask for another size: a larger one, or the one it still has while it has not grown yet."""

    # A size that was set back since would stay: no volume becomes smaller.
    member: str
    claim: Ref
    size: int


class MarkVolume(Action, frozen=True):
    """Say on a claim whether its member has left it: no new member starts with one that was left."""

    # It is judged anew by every plan, and taken back by one that sees better.
    needs_live: ClassVar[bool] = False
    member: str
    claim: Ref
    left: bool


class RetainVolume(Action, frozen=True):
    """Take the cluster off the owners of a claim, so that the volume stays when the cluster is deleted."""

    # To keep a volume is always safe; from an old cache it is owned again a moment later.
    needs_live: ClassVar[bool] = False
    member: str
    claim: Ref


class OwnVolume(Action, frozen=True):
    """Make the cluster the owner of a claim, so that the volume is deleted with the cluster."""

    # From an old cache it would undo that a person has asked to keep the volume.
    member: str
    claim: Ref


class RecordRemoval(Action, frozen=True):
    """Write down that a member is replaced; the status that is written at the end of the round is the record."""

    # The status is written only onto the cluster resource that was read.
    needs_live: ClassVar[bool] = False
    member: str


class TakeBack(Action, frozen=True):
    """Take a member off the list of those that are replaced: as `RecordRemoval`."""

    # The status is written only onto the cluster resource that was read.
    needs_live: ClassVar[bool] = False
    member: str


class RecordBootstrap(Action, frozen=True):
    """Write down which member, with which volume, may form the cluster: before it is allowed to."""

    # It destroys nothing, but it is said once in a cluster's life: a volume read off an old cache would stay in it.
    member: str
    volume: str


class GrantBootstrap(Action, frozen=True):
    """Allow this very pod to form the cluster."""

    member: str
    pod: Ref


class Form(Action, frozen=True):
    """Tell a database that says of itself that nothing was ever made in it to make itself, empty."""

    # It would destroy what is there, if anything were.


class Tend(Action, frozen=True):
    """Tell the database what it should be told for its own sake: how much it keeps, and who its coordinators are."""


class LimitAllocation(Action, frozen=True):
    """Keep the database from rebuilding elsewhere the copies of members that will be back at once."""

    allocation: Allocation
    members: frozenset[str] = frozenset()
    """These members; none where nobody stays that could be told of them."""


class RestoreAllocation(Action, frozen=True):
    """Give the allocation back the value it had."""

    # What the database does by itself is always safe, and copies that are not rebuilt are not.
    needs_live: ClassVar[bool] = False

    @property
    def ends(self) -> bool:
        """Whether it only ends something: always."""
        return True


class ResumeBalancing(Action, frozen=True):
    """Let the database move copies for the sake of balance again: `MoveCopies` keeps it from that."""

    # What the database does by itself is always safe.
    needs_live: ClassVar[bool] = False

    @property
    def ends(self) -> bool:
        """Whether it only ends something: always."""
        return True


class Flush(Action, frozen=True):
    """Write memory to disk, so that recovery after the restart is short."""


class Drain(Action, frozen=True):
    """Make these members, and no others, the ones that data is moved away from."""

    members: frozenset[str]
    lifts: bool = False
    """Whether it takes members off, and adds none."""

    @property
    def ends(self) -> bool:
        """Whether it only takes members off."""
        return self.lifts


class ExcludeVoters(Action, frozen=True):
    """Make these members, and no others, the ones without a vote."""

    members: frozenset[str]
    lifts: bool = False
    """Whether it takes members off, and adds none."""

    @property
    def ends(self) -> bool:
        """Whether it only takes members off."""
        return self.lifts


class Move(Struct, frozen=True):
    """One copy of a unit, from one member to another."""

    unit: str
    origin: str
    target: str


class MoveCopies(Action, frozen=True):
    """Move single copies away from a member that is about to go down, and keep the database from moving them back.

    The disaster this prevents: of two members the one that is freed has fewer copies then, the database moves one back
    for the sake of balance before the next plan sees the member free, and no restart ever begins.
    """

    moves: tuple[Move, ...]
