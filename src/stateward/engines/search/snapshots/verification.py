"""What to do about the verification of a schedule's snapshots. Pure.

    due ──▶ snapshot in the status ──▶ throw-away cluster ──▶ its repository ──▶ its restore ──▶ result in the status
                                                                                                     │
    nothing in the status ◀── the cluster is gone ◀── deleted, by its UID ◀──────────────────────────┘

Each arrow is at most one effect, and the status is written before the next one. So after a crash the same effect
follows again. A cluster is deleted only if the stored status has its result, or if nothing asks for it any longer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from msgspec.structs import replace

from stateward.api.kinds.search_object import SearchObject
from stateward.api.kinds.security import lifetime_seconds
from stateward.api.kinds.snapshots.restore import RestorePhase, SearchRestoreStatus
from stateward.api.kinds.snapshots.schedule import (
    SearchSnapshotSchedule,
    SearchSnapshotScheduleSpec,
    SearchSnapshotScheduleStatus,
)
from stateward.api.kinds.snapshots.verification import (
    FailedVerification,
    SnapshotVerification,
    VerificationStatus,
    VerifiedSnapshot,
)
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.engines.search.snapshots import throwaway
from stateward.engines.search.snapshots.cron import Cron, CronError
from stateward.planning.model.times import parse_time, rfc3339

TAKEN = "VerificationNameTaken"
DISABLED = (
    "VerificationDisabled",
    "the operator does not verify snapshots: an administrator installs it with verifySnapshots (--verify-snapshots)",
)
PATIENCE = 600.0
"""Seconds for which the cluster, its repository or the restore may stall: what it lacks may come a moment later."""
LASTING = ("RestoreFailed", "RestoreRefused")
"""Reasons of a restore with which nothing more is done for it."""
LONGEST = 1000
"""Characters of a reason."""


class Do(Enum):
    """The kinds of steps."""

    NOTHING = "nothing"
    WAIT = "wait"
    NOTE = "note"
    """Write the status; the step that follows from it is decided afterwards."""
    MAKE = "make"
    DELETE = "delete"
    """Delete the throw-away cluster, as it was read."""


@dataclass(frozen=True)
class Step:
    """What to do, the status that is written with it, and the object that is made."""

    do: Do
    status: VerificationStatus
    made: Json | None = None


@dataclass(frozen=True)
class Part:
    """One object of a verification: whether it is made for it, whether it is ready, why it stalls, and what it says."""

    uid: str
    ours: bool
    ready: bool = False
    terminating: bool = False
    message: str = ""
    stalled: str = ""
    """The reason, in one word; empty if it does not stall."""


@dataclass(frozen=True)
class Seen:
    """What exists, read live; None or empty for what does not, or does not matter in this state."""

    allowed: bool
    """Whether the operator may make clusters."""
    cluster: Part | None = None
    repository: Part | None = None
    restore: Part | None = None
    restored: SearchRestoreStatus | None = None
    source: throwaway.Source | None = None
    """The cluster whose snapshots are verified."""
    declared: SearchObject | None = None
    """What declares the repository in the source."""
    remains: str = ""
    """A pod or a claim of an earlier throw-away cluster, whose data the next one must not get."""


@dataclass(frozen=True)
class Wanted:
    """A schedule at a time, in seconds since the epoch."""

    schedule: SearchSnapshotSchedule
    now: float

    @property
    def asked(self) -> SnapshotVerification | None:
        """Return what the spec asks for."""
        return self.schedule.spec.verify

    @property
    def known(self) -> VerificationStatus:
        """Return the status of verifications."""
        return self.schedule.status.verification or VerificationStatus()

    @property
    def running(self) -> bool:
        """Return whether a verification has begun, and its result is not known."""
        return bool(self.known.snapshot) and not self.known.ended

    @property
    def created(self) -> float:
        """Return when the schedule was made."""
        return parse_time(self.schedule.metadata.creation_timestamp or "") or self.now

    def due(self, asked: SnapshotVerification) -> float | None:
        """Return the last time of the schedule, if it has not been dealt with; raises CronError."""
        return Cron(asked.schedule).due(parse_time(self.known.last_schedule_time) or self.created, self.now)

    def makes_cluster(self) -> bool:
        """Return whether a throw-away cluster is to be made now, if there is none; raises CronError."""
        if self.asked is None or self.known.ended:
            return False
        return self.running or (self.due(self.asked) is not None and not self.schedule.spec.paused)

    def concerns_cluster(self) -> bool:
        """Return whether a throw-away cluster may exist, or is to be made: without, nothing needs to be read."""
        return bool(self.known.snapshot) or (self.asked is not None and not list(problems(self.schedule.spec)))

    def overdue(self) -> float | None:
        """Return when two times of the schedule have passed without success; None without verification."""
        success = self.known.last_success
        if self.asked is None or self.schedule.spec.paused:
            return None
        try:
            cron = Cron(self.asked.schedule)
        except CronError:
            return self.created
        return cron.overdue(self.created if success is None else parse_time(success.time) or self.created)


def problems(spec: SearchSnapshotScheduleSpec) -> Iterator[Problem]:
    """Yield what is wrong with `spec.verify`, besides its shape."""
    if spec.verify is None:
        return
    try:
        Cron(spec.verify.schedule)
    except CronError as error:
        yield Problem("spec.verify.schedule", spec.verify.schedule, str(error))


def protected(status: SearchSnapshotScheduleStatus) -> str:
    """Return the snapshot that must not be deleted, because it is being verified; empty if none is."""
    return "" if status.verification is None else status.verification.snapshot


def decide(wanted: Wanted, seen: Seen) -> Step:
    """Return the next step."""
    if seen.cluster is None or not seen.cluster.ours:
        return _without_cluster(wanted, seen)
    return _with_cluster(wanted, seen, seen.cluster)


def refused(wanted: Wanted, why: str) -> VerificationStatus:
    """Return the status after a step that was refused, or for which something could not be read.

    The time limit counts all the same. The disaster this prevents: a verification that never ends keeps its snapshot
    from expiry, and no one is told that it failed.
    """
    if wanted.asked is not None and wanted.running and (late := _too_long(wanted, wanted.asked, why)) is not None:
        return late
    return _told(wanted.known, "VerificationRefused", f"the next step is not possible: {why}"[:LONGEST])


def _without_cluster(wanted: Wanted, seen: Seen) -> Step:
    """Return the next step while the schedule has no cluster."""
    known, asked = wanted.known, wanted.asked
    if asked is None or known.ended:
        cleared = _told(replace(known, snapshot="", start_time="", stalled_time="", stalled_message="", ended=False))
        return Step(Do.NOTE if known.snapshot else Do.NOTHING, cleared)
    return _create(wanted, seen, asked) if wanted.running else _start(wanted, seen, asked)


def _start(wanted: Wanted, seen: Seen, asked: SnapshotVerification) -> Step:
    """Choose the snapshot, if one is due."""
    due = wanted.due(asked)
    # A time at which nothing happens is not told: the status would be written at each of them.
    following = None if wanted.schedule.spec.paused else Cron(asked.schedule).after(wanted.now)
    known = replace(wanted.known, next_schedule_time="" if following is None else rfc3339(following))
    if due is None or wanted.schedule.spec.paused:
        return Step(Do.NOTHING, _told(known))
    hindrance, success = next(_hindrances(wanted, seen), None), wanted.schedule.status.last_success
    if hindrance is not None:
        return Step(Do.WAIT, _told(known, *hindrance))
    if success is None:
        return Step(Do.WAIT, _told(known, "NoSnapshot", "the schedule has no successful snapshot yet"))
    begun = replace(known, snapshot=success.name, start_time=rfc3339(wanted.now), last_schedule_time=rfc3339(due))
    return Step(Do.NOTE, _runs(begun, "it begins"))


def _create(wanted: Wanted, seen: Seen, asked: SnapshotVerification) -> Step:
    """Create the cluster of a verification that has begun: also again, if someone has deleted it."""
    known = wanted.known
    if (late := _too_long(wanted, asked, known.activity)) is not None:
        return Step(Do.NOTE, late)
    hindrance = next(_hindrances(wanted, seen), None)
    if hindrance is None and seen.source is not None:
        made = throwaway.cluster(wanted.schedule, asked, seen.source)
        return Step(Do.MAKE, _runs(known, "its cluster is created"), made)
    return Step(Do.WAIT, _told(known, *(hindrance or ())))


def _hindrances(wanted: Wanted, seen: Seen) -> Iterator[tuple[str, str]]:
    """Yield why no cluster can be made now: a reason, and a sentence."""
    spec = wanted.schedule.spec
    if seen.cluster is not None:
        yield TAKEN, "a cluster has the name of the throw-away cluster, and does not belong to this schedule"
    if not seen.allowed:
        yield DISABLED
    if seen.source is None:
        yield "ClusterMissing", f"there is no {spec.cluster.kind} {spec.cluster.name} in this namespace"
    else:
        yield from throwaway.hindrances(seen.source)
    if seen.declared is None:
        yield _undeclared(wanted)
    if seen.remains:
        yield "VerificationEnds", f"{seen.remains} of the throw-away cluster before is still being removed"


def _undeclared(wanted: Wanted) -> tuple[str, str]:
    spec = wanted.schedule.spec
    return (
        "RepositoryNotDeclared",
        f"no SearchObject of {spec.cluster.name} has written {throwaway.REPOSITORY}/{spec.repository} to its database",
    )


def _with_cluster(wanted: Wanted, seen: Seen, cluster: Part) -> Step:
    """Return the next step while the schedule has a cluster."""
    known, asked = wanted.known, wanted.asked
    if cluster.terminating:
        return Step(Do.WAIT, _told(known, "VerificationEnds", "the throw-away cluster is being removed"))
    if asked is None or not wanted.running:
        return Step(Do.DELETE, _told(known, "VerificationEnds", "the throw-away cluster is deleted"))
    result = _result(wanted, seen, asked, cluster)
    return Step(Do.NOTE, result) if result is not None else _proceed(wanted, seen, cluster)


def _proceed(wanted: Wanted, seen: Seen, cluster: Part) -> Step:
    """Make what is missing in the cluster: the repository, then the restore."""
    known, schedule = _stalling(wanted, seen, cluster), wanted.schedule
    for part, kind in ((seen.repository, "SearchObject"), (seen.restore, "SearchRestore")):
        if part is not None and not part.ours:
            text = f"a {kind} has the name of the throw-away cluster, and does not belong to it"
            return Step(Do.WAIT, _told(known, TAKEN, text))
    if seen.repository is None:
        if seen.declared is None:
            return Step(Do.WAIT, _told(known, *_undeclared(wanted)))
        made = throwaway.repository(schedule, seen.declared, cluster.uid)
        return Step(Do.MAKE, _runs(known, "its cluster is being formed"), made)
    if not seen.repository.ready:
        return Step(Do.WAIT, _runs(known, seen.repository.message or cluster.message or "its cluster is being formed"))
    if seen.restore is None:
        made = throwaway.restore(schedule, known.snapshot, cluster.uid)
        return Step(Do.MAKE, _runs(known, "the restore begins"), made)
    return Step(Do.WAIT, _runs(known, seen.restore.message or "the restore begins"))


def _result(wanted: Wanted, seen: Seen, asked: SnapshotVerification, cluster: Part) -> VerificationStatus | None:
    """Return the status with the result; None if it is not known yet."""
    known, restore, restored = wanted.known, seen.restore, seen.restored
    if restore is not None and restore.ours and restored is not None:
        if restored.phase == RestorePhase.DONE:
            return _succeeded(wanted, restored)
        if restore.stalled in LASTING:
            return _failed(wanted, restore.message)
    last = next((part.message for part in _parts(seen, cluster) if part.message), "the cluster is not formed")
    since = parse_time(known.stalled_time)
    if since is not None and wanted.now - since >= PATIENCE:
        return _failed(wanted, known.stalled_message)
    return _too_long(wanted, asked, last)


def _succeeded(wanted: Wanted, restored: SearchRestoreStatus) -> VerificationStatus:
    """Return the status with a success."""
    known = wanted.known
    took = wanted.now - (parse_time(known.start_time) or wanted.now)
    success = VerifiedSnapshot(
        name=known.snapshot,
        time=rfc3339(wanted.now),
        indices=len(restored.indices),
        documents=restored.documents,
        seconds=round(took),
    )
    return _told(replace(known, ended=True, last_success=success))


def _parts(seen: Seen, cluster: Part) -> list[Part]:
    """Return what exists, the last one first."""
    return [part for part in (seen.restore, seen.repository, cluster) if part is not None]


def _stalling(wanted: Wanted, seen: Seen, cluster: Part) -> VerificationStatus:
    """Return the status with the time since which it does not get on.

    What stalls tries again and then does not stall for a moment. So the time is forgotten only after a step forward.
    """
    known, restored, repository = wanted.known, seen.restored, seen.repository
    restoring = restored is not None and restored.phase == RestorePhase.RESTORING
    stalled = next((part for part in _parts(seen, cluster) if part.stalled), None)
    if (restoring and stalled is None) or (repository is not None and repository.ready and seen.restore is None):
        return replace(known, stalled_time="", stalled_message="")
    if stalled is None:
        return known
    since = known.stalled_time or rfc3339(wanted.now)
    return replace(known, stalled_time=since, stalled_message=stalled.message[:LONGEST])


def _too_long(wanted: Wanted, asked: SnapshotVerification, last: str) -> VerificationStatus | None:
    began = parse_time(wanted.known.start_time)
    if began is not None and wanted.now - began < lifetime_seconds(asked.time_limit):
        return None
    return _failed(wanted, f"it is not restored after {asked.time_limit} (spec.verify.timeLimit): {last}")


def _failed(wanted: Wanted, reason: str) -> VerificationStatus:
    """Return the status with a failure."""
    made = FailedVerification(name=wanted.known.snapshot, time=rfc3339(wanted.now), reason=reason[:LONGEST])
    return _told(replace(wanted.known, ended=True, last_failure=made))


def _runs(known: VerificationStatus, message: str) -> VerificationStatus:
    return _told(known, "VerificationRuns", f"{known.snapshot} is being restored: {message}"[:LONGEST])


def _told(known: VerificationStatus, reason: str = "", activity: str = "") -> VerificationStatus:
    return replace(known, reason=reason, activity=activity)
