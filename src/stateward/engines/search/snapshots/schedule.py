"""Snapshots by a schedule: what is due, how the last one ended, and which ones have to go. Pure.

The name of a snapshot is written into the status before it is started, and the snapshot carries the schedule and the
database that it is of: another cluster with the same manifests may use the same repository.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec.structs import replace

from stateward.api.kinds.security import lifetime_seconds
from stateward.api.kinds.snapshots.schedule import (
    ScheduledSnapshot,
    SearchSnapshotScheduleSpec,
    SearchSnapshotScheduleStatus,
    SnapshotFailure,
    SnapshotRetention,
)
from stateward.api.values.base import GROUP
from stateward.api.values.problem import Problem
from stateward.engines.search.declared.decision import Decision, Do, doubt
from stateward.engines.search.snapshots import verification
from stateward.engines.search.snapshots.cron import Cron, CronError
from stateward.engines.search.snapshots.decision import FOREIGN, complaint, creation, time_of
from stateward.engines.search.snapshots.records import SUCCESS, Snapshot, age, newest
from stateward.engines.search.snapshots.selection import pattern_problems
from stateward.planning.model.past_times import AHEAD
from stateward.planning.model.times import parse_time, rfc3339

MARK, DATABASE = f"{GROUP}/search-snapshot-schedule", f"{GROUP}/cluster-uuid"
"""Notes in a snapshot: namespace and name of its schedule, and the identity of the database that it is of."""


def problems(spec: SearchSnapshotScheduleSpec) -> Iterator[Problem]:
    """Yield what is wrong with a spec, besides its shape."""
    yield from pattern_problems(spec.indices)
    try:
        Cron(spec.schedule)
    except CronError as error:
        yield Problem("spec.schedule", spec.schedule, str(error))
    kept = spec.retention or SnapshotRetention()
    yield from verification.problems(spec)
    if kept.max_count is not None and kept.min_count is not None and kept.min_count > kept.max_count:
        yield Problem("spec.retention.minCount", kept.min_count, f"must not exceed maxCount, {kept.max_count}")


@dataclass(frozen=True)
class DesiredSchedule:
    """What a schedule asks for at a time; times in seconds since the epoch."""

    name: str
    owner: str
    """Namespace and name of the schedule."""
    database: str
    """Identity of the database."""
    created: float
    now: float
    spec: SearchSnapshotScheduleSpec
    status: SearchSnapshotScheduleStatus

    @property
    def marks(self) -> dict[str, str]:
        """The notes in its snapshots."""
        return marks(self.owner, self.database)

    def due(self) -> float | None:
        """Return the last time of the schedule, if it has not been dealt with."""
        return Cron(self.spec.schedule).due(parse_time(self.status.last_schedule_time) or self.created, self.now)

    def next(self) -> float | None:
        """Return the next time of the schedule."""
        return Cron(self.spec.schedule).after(self.now)

    def overdue(self) -> float | None:
        """Return when two times of the schedule have passed without success: then people are to be told."""
        try:
            cron, success = Cron(self.spec.schedule), self.status.last_success
        except CronError:
            return self.created  # An invalid schedule takes no snapshots, so it is overdue from the start.
        if success is None:
            return cron.overdue(self.created)
        times = (due_of(success.name, self.created), parse_time(success.end_time) or self.created, self.created)
        return cron.overdue(next((each for each in times if each <= self.now + AHEAD), self.now))


def marks(owner: str, database: str) -> dict[str, str]:
    """Return the notes in snapshots of a schedule; `owner` is its namespace and name."""
    return {MARK: owner, DATABASE: database}


@dataclass(frozen=True)
class Repository:
    """What a repository has, read in one session: snapshots that may be of the schedule, and names of running ones."""

    snapshots: Sequence[Snapshot]
    running: Sequence[str]
    versions: frozenset[str]

    def own(self, desired: DesiredSchedule) -> list[Snapshot]:
        """Return the snapshots of the schedule."""
        return [each for each in self.snapshots if each.marked(desired.marks)]

    def named(self, name: str) -> Snapshot | None:
        """Return the snapshot of a name."""
        return next((each for each in self.snapshots if each.snapshot == name), None)


def name_at(name: str, due: float) -> str:
    """Return the name of the snapshot for a time."""
    return f"{name}-{datetime.fromtimestamp(due, UTC):%Y%m%d%H%M}"


def due_of(snapshot: str, otherwise: float) -> float:
    """Return the time for which a snapshot was taken, from its name: the clock of the database may be another one."""
    try:
        return datetime.strptime(snapshot.rpartition("-")[2], "%Y%m%d%H%M").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return otherwise


def concluded(desired: DesiredSchedule, found: Repository) -> SearchSnapshotScheduleStatus:
    """Return the status with what has become of the running snapshot, and the newest successful one."""
    status, own = desired.status, found.own(desired)
    last = newest(own)
    if last is None:
        status = replace(status, last_success=None)
    elif status.last_success is None or status.last_success.name != last.snapshot:
        ended = time_of(last.end_time_in_millis)
        made = ScheduledSnapshot(name=last.snapshot, start_time=time_of(last.start_time_in_millis), end_time=ended)
        status = replace(status, last_success=made)
    return replace(_ended(status, own, desired.now), count=len(own))


def _ended(status: SearchSnapshotScheduleStatus, own: list[Snapshot], now: float) -> SearchSnapshotScheduleStatus:
    if not status.running:
        return status
    taken = next((each for each in own if each.snapshot == status.running), None)
    if taken is None:
        if not status.started:
            return status
        reason = "it was deleted in the repository while it was being taken"
        return failure(replace(status, running="", started=False), status.running, reason, now)
    if taken.running:
        return replace(status, started=True)
    over = replace(status, running="", started=False)
    return over if taken.state == SUCCESS else failure(over, taken.snapshot, complaint(taken), now)


def failure(status: SearchSnapshotScheduleStatus, name: str, reason: str, now: float) -> SearchSnapshotScheduleStatus:
    """Return the status with a failure; one that is known keeps its time."""
    known = status.last_failure
    time = known.time if known is not None and known.name == name else rfc3339(now)
    return replace(status, last_failure=SnapshotFailure(name=name, time=time, reason=reason))


def decide(desired: DesiredSchedule, found: Repository) -> Decision:
    """Return what to do now, after `concluded`: the claim of a decision to claim is the name of the snapshot."""
    status, due = desired.status, desired.due()
    if desired.spec.paused or (status.running and status.started) or (due is None and not status.running):
        return Decision(Do.NOTHING)
    if due is not None and status.running != (name := name_at(desired.name, due)):
        return Decision(Do.CLAIM, claim=name)
    if (other := found.named(status.running)) is not None and not other.marked(desired.marks):
        return Decision(Do.STOP, "SnapshotExists", FOREIGN.format(name=status.running))
    if found.running:
        message = f"the snapshot {found.running[0]} is being taken in the repository"
        return Decision(Do.WAIT, "RepositoryBusy", message)
    return Decision(Do.SEND, request=creation(desired.spec, status.running, desired.marks))


def claimed(desired: DesiredSchedule, name: str) -> SearchSnapshotScheduleStatus:
    """Return the status with a claim to the snapshot that is due."""
    due = rfc3339(desired.due() or desired.now)
    return replace(desired.status, cluster_uuid=desired.database, running=name, started=False, last_schedule_time=due)


def expired(desired: DesiredSchedule, found: Repository) -> list[str]:
    """Return the snapshots that have to go, the oldest first; none while anything is in doubt or in progress.

    Its generation is the number of later successful snapshots, and for one that did not succeed, of all later ones: so
    these do not pile up. While the newest one did not succeed, all successful ones stay.

    A start that is ahead is doubt: the disaster this prevents is that snapshots of a database whose clock was ahead
    count as the newest ones, and each later one is deleted in their place.
    """
    kept = desired.spec.retention
    if kept is None or desired.spec.paused or found.running or doubt(found.versions) is not None:
        return []
    all_own = found.own(desired)
    if any(each.running or each.start_time_in_millis / 1000 > desired.now + AHEAD for each in all_own):
        return []
    # Each once: one that comes twice in an answer would count as later than itself.
    own = [each for _, each in sorted({age(each): each for each in all_own}.items())]
    oldest = None if kept.max_age is None else desired.now - lifetime_seconds(kept.max_age)
    failing = bool(own) and own[-1].state != SUCCESS
    return [
        each.snapshot
        for each, generation in zip(own, _generations(own), strict=True)
        if each.snapshot != verification.protected(desired.status)
        and generation >= (kept.min_count or 1)
        and not (failing and each.state == SUCCESS)
        and (
            (kept.max_count is not None and generation >= kept.max_count)
            or (oldest is not None and each.start_time_in_millis / 1000 < oldest)
        )
    ]


def _generations(own: Sequence[Snapshot]) -> list[int]:
    """Return the generation of each snapshot; they are sorted by age, the oldest first."""
    generations, later, successful = list[int](), 0, 0
    for each in reversed(own):
        generations.append(successful if each.state == SUCCESS else later)
        later, successful = later + 1, successful + (each.state == SUCCESS)
    return generations[::-1]
