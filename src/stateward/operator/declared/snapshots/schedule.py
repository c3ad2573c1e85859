"""One reconciliation of one schedule: conclude what has run, start what is due, and delete what has expired."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from dataclasses import replace as changed

from msgspec.structs import replace

from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule, SearchSnapshotScheduleStatus
from stateward.api.kinds.snapshots.verification import VerificationStatus
from stateward.api.values.problem import Problem
from stateward.engines.connection.base import RefusedError, Target
from stateward.engines.search.database.session import Session
from stateward.engines.search.declared.decision import Decision, Do
from stateward.engines.search.declared.requests import versions_of_nodes
from stateward.engines.search.snapshots.decision import deletion
from stateward.engines.search.snapshots.requests import all_snapshots, is_restoring, running_snapshots, send, size_of
from stateward.engines.search.snapshots.schedule import (
    DesiredSchedule,
    Repository,
    claimed,
    concluded,
    decide,
    expired,
    failure,
    problems,
)
from stateward.engines.search.snapshots.verification import Wanted
from stateward.kube.events.event_record import Severity
from stateward.kube.objects.metadata import key_of
from stateward.operator.declared.reporting import Outcome, Stage
from stateward.operator.declared.resource import REFUSED_SECONDS, RETRY_SECONDS
from stateward.operator.declared.snapshots.repositories import RepositoryReconciliation
from stateward.operator.declared.snapshots.verification import Verification
from stateward.operator.declared.tools import Tools
from stateward.operator.declared.views import cluster_id
from stateward.planning.model.times import parse_time, rfc3339

CLAIMS = 2
"""Decisions in one reconciliation: a claim, and the start."""
DELETIONS = 5
"""Snapshots that one reconciliation deletes; each is decided from a new list."""
QUIET_SECONDS = 3600.0
"""Seconds until a repository is listed again while nothing is due: the database reads a file for each snapshot."""


@dataclass(frozen=True)
class Looked:
    """What was decided, and what the repository has after it; `refusal` is why the database did not start it."""

    decision: Decision
    found: Repository
    refusal: str = ""


async def listed(session: Session, desired: DesiredSchedule) -> Repository:
    """Return what the repository has; raises EngineError."""
    repository = desired.spec.repository
    running = await running_snapshots(session, repository)
    found = await all_snapshots(session, repository, f"{desired.name}-*")
    return Repository(found, running, await versions_of_nodes(session))


async def look(session: Session, desired: DesiredSchedule) -> Looked:
    """Decide from a list of this session, start what is due, and list again; raises EngineError."""
    found = await listed(session, desired)
    decision = decide(changed(desired, status=concluded(desired, found)), found)
    if decision.request is None:
        return Looked(decision, found)
    try:
        await send(session, decision.request)
    except RefusedError as error:
        if not error.lasting:
            raise
        found = await listed(session, desired)
        taken = found.named(desired.status.running)
        begun = taken is not None and taken.marked(desired.marks)  # By a request whose answer was lost.
        return Looked(decision, found, "" if begun else str(error))
    return Looked(decision, await listed(session, desired))


async def drop_expired(session: Session, desired: DesiredSchedule) -> str:
    """Delete the oldest snapshot that has expired; returns its name, empty if there is none. Raises EngineError."""
    repository, found = desired.spec.repository, await listed(session, desired)
    for name in expired(desired, found):
        if not await is_restoring(session, repository, name):
            await send(session, deletion(repository, name))
            return name
    return ""


def _is_open(status: SearchSnapshotScheduleStatus) -> bool:
    """Return whether a claimed snapshot may have been started; the database has not refused it."""
    failed = status.last_failure
    return bool(status.running) and (failed is None or failed.name != status.running)


def _gets_on(found: SearchSnapshotSchedule) -> bool:
    """Return whether the status of a schedule follows its snapshot: others would wait for a stopped one forever."""
    stopped = found.spec.paused or found.metadata.deletion_timestamp is not None
    return not stopped and not list(problems(found.spec))


class ScheduleReconciliation(RepositoryReconciliation[SearchSnapshotSchedule]):
    """One reconciliation of one schedule."""

    def __init__(self, tools: Tools[SearchSnapshotSchedule], live: SearchSnapshotSchedule) -> None:
        super().__init__(tools, live)
        self.live: SearchSnapshotSchedule = live

    def problems(self) -> Iterable[Problem]:
        """Return what is wrong with the spec."""
        return problems(self.live.spec)

    def claims(self, resource: SearchSnapshotSchedule) -> frozenset[str]:  # noqa: ARG002 - names tell schedules apart
        """Return nothing: the names of snapshots begin with that of their schedule, and carry its mark."""
        return frozenset()

    def owns(self, resource: SearchSnapshotSchedule) -> bool:
        """Return whether a schedule has snapshots."""
        return bool(resource.status.count)

    async def run(self) -> float | None:
        """Reconcile, and have metrics say what the status says, also if the database was not reached."""
        before = self.live.status
        cluster = self.tools.databases.cluster(self.kind, self.where)
        ours = self.live.metadata.deletion_timestamp is None and self.tools.databases.managed(cluster)
        try:
            soon = await self._verify() if ours else None
            again = await super().run()
            self._announce(before)
        finally:
            if ours:
                self._measure()
        return again if soon is None or again is None else min(again, soon)

    async def _verify(self) -> float:
        """Do one step of the verification of a snapshot, and write its status; returns the seconds until the next one.

        It does not need the database of the cluster, so it goes on without it.
        """
        allowed = self.tools.verifies
        status, seconds = await Verification(self.tools.api, self._dated(), self.now(), allowed=allowed).run()
        if status != self.live.status.verification:
            await self.store(replace(self.live.status, verification=status))
        return seconds

    async def settle(self, target: Target) -> Outcome:
        """Take what is due and delete what has expired; raises StopError, EngineError, ApiError, LostLease."""
        self.check_begun()
        before = self.live.status
        if before.cluster_uuid != target.identity:
            last = before.last_schedule_time  # What was due before is of another database.
            fresh = SearchSnapshotScheduleStatus(
                conditions=before.conditions, last_schedule_time=last, verification=before.verification
            )
            self.keep(replace(fresh, cluster_uuid=target.identity))
        outcome = await self._taken(target)
        if not self.live.status.running:
            await self._drop(target)
        return outcome

    async def _taken(self, target: Target) -> Outcome:
        """Start what is due; one schedule at a time for a repository, so that two never see it free together."""
        spec = self.live.spec
        async with self.tools.locks[f"{cluster_id(self.live)}/{spec.repository}"]:
            for _ in range(CLAIMS):
                desired = self._desired(target)
                looked = await self.tools.databases.ask(
                    self.kind, target, lambda session, desired=desired: look(session, desired)
                )
                self.keep(await self._sized(concluded(desired, looked.found), target))
                if looked.decision.do is not Do.CLAIM:
                    return self._done(looked)
                if (other := self._other()) is not None:
                    message = f"the snapshot {other.status.running} of the schedule {other.metadata.name} is first"
                    return Outcome(Stage.WORKING, "RepositoryBusy", message)
                desired = self._desired(target)
                message = f"the snapshot {looked.decision.claim} is being started"
                await self.write(claimed(desired, looked.decision.claim), Outcome(Stage.WORKING, "Due", message))
        return Outcome(Stage.WORKING, "Changing", "another client changes the repository")

    def _other(self) -> SearchSnapshotSchedule | None:
        """Return a schedule that has or may have started a snapshot in the repository, though no answer came."""
        same = (each for each in self.others() if each.spec.repository == self.live.spec.repository)
        return next((each for each in same if _gets_on(each) and _is_open(each.status)), None)

    async def _sized(self, status: SearchSnapshotScheduleStatus, target: Target) -> SearchSnapshotScheduleStatus:
        """Return a status with the size of the newest successful snapshot."""
        last, repository = status.last_success, self.live.spec.repository
        if last is None or last.size_bytes is not None:
            return status
        size = await self.tools.databases.ask(
            self.kind, target, lambda session: size_of(session, repository, last.name)
        )
        return replace(status, last_success=replace(last, size_bytes=size))

    async def _drop(self, target: Target) -> None:
        """Delete what has expired, the oldest first, each from a new list; raises EngineError, LostLease."""
        for _ in range(DELETIONS):
            desired = self._desired(target)
            name = await self.tools.databases.ask(
                self.kind, target, lambda session, desired=desired: drop_expired(session, desired)
            )
            if not name:
                return
            self.keep(replace(self.live.status, count=max(0, self.live.status.count - 1)))
            self.tell(Severity.NORMAL, "SnapshotExpired", f"the snapshot {name} is deleted: it has expired")

    def _desired(self, target: Target) -> DesiredSchedule:
        meta, status = self._dated().metadata, self.live.status
        created = parse_time(meta.creation_timestamp or "") or self.now()
        owner = f"{meta.namespace}/{meta.name}"
        return DesiredSchedule(meta.name, owner, target.identity, created, self.now(), self.live.spec, status)

    def _dated(self) -> SearchSnapshotSchedule:
        """Return the resource without a creation that is ahead: from then on times of the schedule are due."""
        meta, past = self.live.metadata, self.tools.past.at(self.now())
        created = parse_time(meta.creation_timestamp or "")
        text = meta.creation_timestamp if created is None else rfc3339(past(created))
        return replace(self.live, metadata=replace(meta, creation_timestamp=text))

    def _done(self, looked: Looked) -> Outcome:
        status, decision, desired = self.live.status, looked.decision, self._desired_now()
        following = None if desired.spec.paused else desired.next()
        self.keep(replace(status, next_schedule_time="" if following is None else rfc3339(following)))
        if looked.refusal or decision.do is Do.STOP:
            reason = looked.refusal or decision.message
            self.keep(failure(self.live.status, status.running, reason, self.now()))
            return Outcome(Stage.STALLED, decision.reason or "Refused", reason, REFUSED_SECONDS)
        if decision.do is Do.WAIT:
            return Outcome(Stage.WORKING, decision.reason, decision.message)
        wait = QUIET_SECONDS if following is None else min(QUIET_SECONDS, max(1.0, following - self.now()))
        if desired.spec.paused:
            return paused(status, wait)
        if status.running:
            return Outcome(Stage.READY, "InProgress", f"the snapshot {status.running} is being taken", RETRY_SECONDS)
        failed, success = status.last_failure, status.last_success
        if failed is not None and (success is None or success.name < failed.name):
            return Outcome(Stage.STALLED, "SnapshotFailed", f"{failed.name}: {failed.reason}", wait)
        return Outcome(Stage.READY, "Scheduled", "", wait)

    def _desired_now(self) -> DesiredSchedule:
        return self._desired(Target((), "", self.live.status.cluster_uuid))

    def _measure(self) -> None:
        """Have metrics tell the last success, and when people are to be told."""
        success = self.live.status.last_success
        began = None if success is None else parse_time(success.start_time)
        overdue = None if self.live.spec.paused else self._desired_now().overdue()
        self.tools.metrics.scheduled(key_of(self.live), self.where.name, began, overdue)
        wanted = Wanted(self._dated(), self.now())
        self.tools.metrics.verified(key_of(self.live), self.where.name, wanted.known.last_success, wanted.overdue())

    def _announce(self, before: SearchSnapshotScheduleStatus) -> None:
        """Tell people and metrics what has happened since an earlier status."""
        for told in news(before, self.live.status):
            self.tell(*told)
        if has_failed(before, self.live.status):
            self.tools.metrics.snapshot_failed(key_of(self.live), self.where.name)


def paused(status: SearchSnapshotScheduleStatus, wait: float) -> Outcome:
    """Return that a schedule is paused; it follows the snapshot that is being taken, and its status tells the end."""
    if not status.started:
        return Outcome(Stage.STALLED, "Paused", "spec.paused: no snapshot is taken or deleted", wait)
    message = f"spec.paused: {status.running} is being taken, and no other snapshot is taken or deleted"
    return Outcome(Stage.STALLED, "Paused", message, RETRY_SECONDS)


def has_failed(before: SearchSnapshotScheduleStatus, after: SearchSnapshotScheduleStatus) -> bool:
    """Return whether a snapshot has failed between two statuses."""
    old, new = before.last_failure, after.last_failure
    return new is not None and (old is None or old.name != new.name)


def news(
    before: SearchSnapshotScheduleStatus, after: SearchSnapshotScheduleStatus
) -> Iterator[tuple[Severity, str, str]]:
    """Yield what people are to know that has happened between two statuses, each with a reason for programs."""
    old, new = before.last_success, after.last_success
    if new is not None and (old is None or old.name != new.name):
        yield Severity.NORMAL, "SnapshotTaken", f"the snapshot {new.name} is complete"
    known, verified = before.verification or VerificationStatus(), after.verification or VerificationStatus()
    good, bad = verified.last_success, verified.last_failure
    if good is not None and good != known.last_success:
        text = f"{good.name} can be restored: {good.documents} documents in {good.indices} indices"
        yield Severity.NORMAL, "SnapshotVerified", text
    if bad is not None and bad != known.last_failure:
        yield Severity.WARNING, "VerificationFailed", f"{bad.name} could not be restored: {bad.reason}"
