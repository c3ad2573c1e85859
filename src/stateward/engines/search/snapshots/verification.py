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

from stateward.api.kinds.security import lifetime_seconds
from stateward.api.kinds.snapshots.restore import RestorePhase, SearchRestoreStatus
from stateward.api.kinds.snapshots.schedule import SearchSnapshotScheduleSpec, SearchSnapshotScheduleStatus
from stateward.api.kinds.snapshots.verification import (
    FailedVerification,
    SnapshotVerification,
    VerificationStatus,
    VerifiedSnapshot,
)
from stateward.api.values.problem import Problem
from stateward.engines.search.snapshots.cron import Cron, CronError
from stateward.planning.model.times import parse_time, rfc3339

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
    CREATE = "create"
    DECLARE = "declare"
    RESTORE = "restore"
    DELETE = "delete"


@dataclass(frozen=True)
class Step:
    """What to do, and the status that is written with it."""

    do: Do
    status: VerificationStatus


@dataclass(frozen=True)
class Part:
    """One object of a verification: whether it is made for it, whether it is ready, why it stalls, and what it says."""

    ours: bool
    ready: bool = False
    terminating: bool = False
    message: str = ""
    stalled: str = ""
    """The reason, in one word; empty if it does not stall."""


@dataclass(frozen=True)
class Seen:
    """What exists, read live; None if it does not. `hindrance` is why no cluster can be made: a reason, a sentence.

    The last three are of a cluster that belongs to the schedule.
    """

    cluster: Part | None = None
    repository: Part | None = None
    restore: Part | None = None
    restored: SearchRestoreStatus | None = None
    hindrance: tuple[str, str] | None = None


@dataclass(frozen=True)
class Wanted:
    """What is asked for at a time; times in seconds since the epoch."""

    created: float
    now: float
    spec: SearchSnapshotScheduleSpec
    status: SearchSnapshotScheduleStatus

    @property
    def known(self) -> VerificationStatus:
        """Return the status of verifications."""
        return self.status.verification or VerificationStatus()

    @property
    def running(self) -> bool:
        """Return whether a verification has begun, and its result is not known."""
        return bool(self.known.snapshot) and not self.known.ended

    def due(self, asked: SnapshotVerification) -> float | None:
        """Return the last time of the schedule, if it has not been dealt with: missed times count once."""
        last = Cron(asked.schedule).before(self.now)
        since = parse_time(self.known.last_schedule_time) or self.created
        return last if last is not None and last > since else None

    def overdue(self) -> float | None:
        """Return when two times of the schedule have passed without success; None without verification."""
        asked, success = self.spec.verify, self.known.last_success
        if asked is None or self.spec.paused:
            return None
        try:
            cron = Cron(asked.schedule)
        except CronError:
            return self.created
        first = cron.after(self.created if success is None else parse_time(success.time) or self.created)
        return None if first is None else cron.after(first)


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


def concerns_cluster(wanted: Wanted) -> bool:
    """Return whether a throw-away cluster may exist, or is to be made: without, nothing needs to be read."""
    return bool(wanted.known.snapshot) or wanted.spec.verify is not None


def makes_cluster(wanted: Wanted) -> bool:
    """Return whether a throw-away cluster is to be made now, if there is none."""
    asked = wanted.spec.verify
    return asked is not None and not wanted.known.ended and (wanted.running or wanted.due(asked) is not None)


def decide(wanted: Wanted, seen: Seen) -> Step:
    """Return the next step."""
    return _begin(wanted, seen) if seen.cluster is None else _continue(wanted, seen, seen.cluster)


def _begin(wanted: Wanted, seen: Seen) -> Step:
    """Return the next step while there is no cluster."""
    known, asked = wanted.known, wanted.spec.verify
    if asked is None or known.ended:
        cleared = _told(replace(known, snapshot="", start_time="", stalled_time="", stalled_message="", ended=False))
        return Step(Do.NOTE if known.snapshot else Do.NOTHING, cleared)
    return _create(wanted, seen, asked) if wanted.running else _start(wanted, seen, asked)


def _start(wanted: Wanted, seen: Seen, asked: SnapshotVerification) -> Step:
    """Choose the snapshot, if one is due."""
    following, due, success = Cron(asked.schedule).after(wanted.now), wanted.due(asked), wanted.status.last_success
    known = replace(wanted.known, next_schedule_time="" if following is None else rfc3339(following))
    if due is None or wanted.spec.paused:
        return Step(Do.NOTHING, _told(known))
    if seen.hindrance is not None:
        return Step(Do.WAIT, _told(known, *seen.hindrance))
    if success is None:
        return Step(Do.WAIT, _told(known, "NoSnapshot", "the schedule has no successful snapshot yet"))
    begun = replace(known, snapshot=success.name, start_time=rfc3339(wanted.now), last_schedule_time=rfc3339(due))
    return Step(Do.NOTE, _runs(begun, "it begins"))


def _create(wanted: Wanted, seen: Seen, asked: SnapshotVerification) -> Step:
    """Create the cluster of a verification that has begun: also again, if someone has deleted it."""
    known = wanted.known
    if (late := _too_long(wanted, asked, known.activity)) is not None:
        return Step(Do.NOTE, late)
    if seen.hindrance is not None:
        return Step(Do.WAIT, _told(known, *seen.hindrance))
    return Step(Do.CREATE, _runs(known, "its cluster is created"))


def _continue(wanted: Wanted, seen: Seen, cluster: Part) -> Step:
    """Return the next step while there is a cluster of that name."""
    known, asked = wanted.known, wanted.spec.verify
    if (taken := _foreign(seen)) is not None:
        text = f"a {taken} has the name that the verification needs, and does not belong to it"
        return Step(Do.WAIT, _told(known, "VerificationNameTaken", text))
    if cluster.terminating:
        return Step(Do.WAIT, _told(known, "VerificationEnds", "the throw-away cluster is being removed"))
    if asked is None or not wanted.running:
        return Step(Do.DELETE, _told(known, "VerificationEnds", "the throw-away cluster is deleted"))
    result = _result(wanted, seen, asked, cluster)
    return _proceed(_stalling(wanted, seen, cluster), seen, cluster) if result is None else Step(Do.NOTE, result)


def _foreign(seen: Seen) -> str | None:
    """Return the kind of an object that has the name of one of the verification's own; None if there is none."""
    parts = {"cluster": seen.cluster, "SearchObject": seen.repository, "SearchRestore": seen.restore}
    return next((kind for kind, part in parts.items() if part is not None and not part.ours), None)


def _proceed(known: VerificationStatus, seen: Seen, cluster: Part) -> Step:
    """Make what is missing in the cluster: the repository, then the restore."""
    if seen.repository is None:
        return Step(Do.DECLARE, _runs(known, "its cluster is being formed"))
    if not seen.repository.ready:
        return Step(Do.WAIT, _runs(known, seen.repository.message or cluster.message or "its cluster is being formed"))
    if seen.restore is None:
        return Step(Do.RESTORE, _runs(known, "the restore begins"))
    return Step(Do.WAIT, _runs(known, seen.restore.message or "the restore begins"))


def _result(wanted: Wanted, seen: Seen, asked: SnapshotVerification, cluster: Part) -> VerificationStatus | None:
    """Return the status with the result; None if it is not known yet."""
    known, restored = wanted.known, seen.restored
    if restored is not None and restored.phase == RestorePhase.DONE:
        took = wanted.now - (parse_time(known.start_time) or wanted.now)
        success = VerifiedSnapshot(
            name=known.snapshot,
            time=rfc3339(wanted.now),
            indices=len(restored.indices or ()),
            documents=restored.documents or 0,
            seconds=round(took),
        )
        return _told(replace(known, ended=True, last_success=success))
    if seen.restore is not None and seen.restore.stalled in LASTING:
        return _failed(wanted, seen.restore.message)
    last = next((part.message for part in _parts(seen, cluster) if part.message), "the cluster is not formed")
    since = parse_time(known.stalled_time)
    if since is not None and wanted.now - since >= PATIENCE:
        return _failed(wanted, known.stalled_message)
    return _too_long(wanted, asked, last)


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
