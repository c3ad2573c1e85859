"""One reconciliation of one restore: plan it, close what it replaces, start it, follow it, and count documents."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from msgspec.structs import replace

from stateward.api.kinds.snapshots.restore import (
    RestoredIndex,
    RestorePhase,
    SearchRestore,
    SearchRestoreSpec,
    SearchRestoreStatus,
)
from stateward.api.values.problem import Problem, first_of
from stateward.api.values.quantity import amount
from stateward.engines.connection.base import RefusedError, Target
from stateward.engines.search.database.session import Session
from stateward.engines.search.declared.decision import Decision, Do, doubt
from stateward.engines.search.declared.preview import MOST, FieldChange, ObjectPreview
from stateward.engines.search.declared.requests import versions_of_nodes
from stateward.engines.search.snapshots.records import SUCCESS, Snapshot, age
from stateward.engines.search.snapshots.requests import (
    all_indices,
    all_snapshots,
    close_indices,
    documents_of,
    one_snapshot,
    open_indices,
    recoveries_of,
    send,
    settings_of,
    shard_rows,
)
from stateward.engines.search.snapshots.restoring import (
    Stored,
    claim,
    counted,
    ended_by,
    foreign,
    from_elsewhere,
    in_place,
    opened,
    pending,
    planned,
    problems,
    restored_bytes,
    starting,
    to_close,
    untouched,
    unusable,
    with_histories,
    without_gone,
)
from stateward.engines.search.snapshots.selection import has_any
from stateward.kube.events.event_record import Severity
from stateward.operator.declared.reporting import Outcome, Stage, stalled_reason
from stateward.operator.declared.resource import RESYNC_SECONDS, StopError
from stateward.operator.declared.snapshots.repositories import RepositoryReconciliation
from stateward.operator.declared.tools import Tools
from stateward.operator.declared.views import FINALIZER, cluster_id
from stateward.planning.model.times import rfc3339

CLOSED = (RestorePhase.CLOSING, RestorePhase.STARTING)
"""Phases in which indices may be closed, and the restore that opens them again may not have begun."""
UNFINISHED = (RestorePhase.CLOSING, RestorePhase.STARTING, RestorePhase.RESTORING)
LOOKED_AT = 20
"""Snapshots of which the indices are read to find the newest one that is not empty."""
STEPS = 5
"""Phases in one reconciliation."""
ENDLESS = ("IndicesExist", "IndicesMissing", "RestoreFailed")
"""Reasons of a restore that has begun and does not get on by itself."""
BUSY = (0, 408, 429, 503)
"""Status codes of a database that is not able to start a restore now; it refuses one with many others, also 500."""


@dataclass(frozen=True)
class Step:
    """What one session did: the status that follows, or why it ends here."""

    status: SearchRestoreStatus
    ends: Decision | None = None


@dataclass(frozen=True)
class RestoreWork:
    """The requests of one restore, from the status of its phase; each raises EngineError."""

    live: SearchRestore
    database: str
    now: str

    async def run(self, session: Session) -> Step:
        """Do the work of the phase."""
        match self.live.status.phase:
            case RestorePhase.CLOSING:
                return await self.close(session)
            case RestorePhase.STARTING:
                return await self.start(session)
            case RestorePhase.RESTORING:
                return await self.follow(session)
            case _:
                return await self.plan(session)

    async def plan(self, session: Session) -> Step:
        """Choose the snapshot and its indices, and see what is in their way."""
        spec, status = self.live.spec, self.live.status
        name = spec.snapshot
        if "*" in name:
            found = await newest(session, spec)
            if found is None:
                message = f"the repository has no successful snapshot {name} with such indices"
                return Step(status, Decision(Do.STOP, "SnapshotMissing", message))
            name = found.snapshot
        else:
            found = await one_snapshot(session, spec.repository, name)
        barred = unusable(found, name)
        if found is None or barred is not None:
            return Step(status, barred)
        wanted = planned(spec, found, Stored.of(await all_indices(session)))
        if isinstance(wanted, Decision):
            return Step(status, wanted)
        if (unclear := doubt(await versions_of_nodes(session))) is not None:
            return Step(status, unclear)
        return Step(claim(found, wanted, self.database, self.now))

    async def close(self, session: Session) -> Step:
        """Close the indices that are replaced, and remember their histories."""
        status, stored = self.live.status, Stored.of(await all_indices(session))
        if left := to_close(status, stored):
            await close_indices(session, left)
            stored = Stored.of(await all_indices(session))
            if left := to_close(status, stored):
                return Step(status, Decision(Do.WAIT, "Closing", f"the database has not closed {first_of(left)} yet"))
        replaced = [each.name for each in status.indices if each.replaced and each.name in stored.open]
        return Step(with_histories(status, await settings_of(session, replaced)))

    async def start(self, session: Session) -> Step:
        """Start the restore, unless the database shows that it was started; or open again what was closed for it."""
        spec, status = self.live.spec, self.live.status
        found: Snapshot | None = None
        try:
            found = await one_snapshot(session, spec.repository, status.snapshot)
            if found is None or found.uuid != status.snapshot_uuid:
                return await self._refused(session, f"the snapshot {status.snapshot} that was chosen is gone")
            if (step := await self._begun(session, found)) is not None:
                return step
            await send(session, starting(spec, status))
        except RefusedError as error:
            if error.status in BUSY:
                raise
            begun = None if found is None else await self._begun(session, found)
            return begun or await self._refused(session, str(error))
        return Step(replace(status, phase=RestorePhase.RESTORING))

    async def _begun(self, session: Session, found: Snapshot) -> Step | None:
        """Return the step after a restore that was started before, or must not be; None if it may be started."""
        status, stored = self.live.status, Stored.of(await all_indices(session))
        there = opened(status, stored)
        if not there:
            return await self._barred(session, stored)
        parts, origin = stored.all_parts(there), (self.live.spec.repository, found.snapshot)
        settings = await settings_of(session, parts)
        others = foreign(there, stored, settings, found.end_time_in_millis)
        if len(others) == len(there) and (kept := untouched(there, settings)):
            why = f"{first_of(kept)} was opened before the restore began"
            return await self._given_up(session, self._closed(stored), why)
        others = others or from_elsewhere(there, stored, await recoveries_of(session, parts), origin)
        return Step(status, _intruded(others)) if others else Step(replace(status, phase=RestorePhase.RESTORING))

    async def _barred(self, session: Session, stored: Stored) -> Step | None:
        """Return why a restore is not started over closed indices that are others than when it was planned.

        Or the step after some of them were deleted: what is restored in their place gets no new history.

        The disaster this prevents: another client has made them, or this restore has and people have written into them
        since, and the database restores over them because someone has closed them.
        """
        status = self.live.status
        if (left := without_gone(status, stored)) != status:
            return Step(left)
        settings = await settings_of(session, stored.all_parts(status.indices))
        kept = untouched(status.indices, settings)
        if not (others := in_place(status, stored, kept)):
            return None
        if not kept:
            return Step(status, _intruded(others, "closed"))
        closed = [name for name in self._closed(stored) if name in kept]
        return await self._given_up(session, closed, f"{first_of(others)} was made again before the restore began")

    async def _given_up(self, session: Session, closed: list[str], why: str) -> Step:
        """End a restore before its start, and open again what was closed for it.

        The database restores all indices or none, so one with an index that is as before was not started. The disaster
        this prevents: the rest stays closed, and nothing of it can be read.
        """
        if closed:
            await open_indices(session, closed)
        rest = f"; open again: {first_of(closed)}" if closed else ""
        return self._without_restore(f"{why}, so nothing is replaced{rest}. Make another SearchRestore")

    def _closed(self, stored: Stored) -> list[str]:
        """Return the indices that were closed for the restore, and still are."""
        return [each.name for each in self.live.status.indices if each.closed and stored.open.get(each.name) is False]

    def _without_restore(self, message: str) -> Step:
        status = replace(self.live.status, phase=RestorePhase.REFUSED)
        return Step(status, Decision(Do.STOP, "RestoreRefused", message))

    async def _refused(self, session: Session, reason: str) -> Step:
        """Open again what was closed for a restore that is not possible; or plan again if no index is there."""
        status, stored = self.live.status, Stored.of(await all_indices(session))
        if closed := self._closed(stored):
            await open_indices(session, closed)
            again = f"open again: {first_of(closed)}. Make another SearchRestore"
            return self._without_restore(f"the database refuses the restore: {reason}; {again}")
        message = f"the database refuses the restore: {reason}"
        if opened(status, stored):  # They may be restored, and hold what was written since.
            return Step(status, Decision(Do.STOP, "Refused", message))
        return Step(SearchRestoreStatus(conditions=status.conditions), Decision(Do.STOP, "Refused", message))

    async def reopen(self, session: Session) -> None:
        """Open again what was closed for a restore that has not begun; one that has begun has opened it itself."""
        if closed := self._closed(Stored.of(await all_indices(session))):
            await open_indices(session, closed)

    async def follow(self, session: Session) -> Step:
        """See how far the restore is, and count the documents in the end."""
        status, stored = self.live.status, Stored.of(await all_indices(session))
        if gone := [each.name for each in status.indices if not stored.parts(each)]:
            message = f"another client has deleted {first_of(gone)}; delete this SearchRestore, and make another"
            return Step(status, Decision(Do.STOP, "IndicesMissing", message))
        parts = stored.all_parts(status.indices)
        remembered = await recoveries_of(session, parts)
        origin = (self.live.spec.repository, status.snapshot)
        others = from_elsewhere(status.indices, stored, remembered, origin)
        others = others or foreign(status.indices, stored, await settings_of(session, parts), ended_by(status))
        if others:
            return Step(status, _intruded(others))
        done, total = restored_bytes(remembered)
        status = replace(status, recovered_bytes=done, total_bytes=total)
        if (waits := pending(parts, await shard_rows(session, parts))) is not None:
            return Step(status, waits)
        return Step(counted(status, stored, await documents_of(session, parts), self.now))


async def newest(session: Session, spec: SearchRestoreSpec) -> Snapshot | None:
    """Return the newest successful snapshot with one of the indices, of the last ones; raises EngineError.

    The disaster this prevents: a schedule saves the empty cluster that is to be restored, and the restore takes that
    snapshot for the newest.
    """
    last = sorted(await all_snapshots(session, spec.repository, spec.snapshot), key=age, reverse=True)
    for each in [each for each in last if each.state == SUCCESS][:LOOKED_AT]:
        found = await one_snapshot(session, spec.repository, each.snapshot)
        if found is not None and has_any(spec, found):
            return found
    return None


def _intruded(names: list[str], state: str = "open") -> Decision:
    """Return that a restore ends, because indices have data of another client."""
    message = f"there are {state} indices that do not come from the snapshot: {first_of(names)}; nothing more is done"
    return Decision(Do.STOP, "IndicesExist", f"{message}. Delete this SearchRestore, and make another")


class RestoreReconciliation(RepositoryReconciliation[SearchRestore]):
    """One reconciliation of one restore."""

    def __init__(self, tools: Tools[SearchRestore], live: SearchRestore) -> None:
        super().__init__(tools, live)
        self.live: SearchRestore = live

    def problems(self) -> Iterable[Problem]:
        """Return what is wrong with the spec."""
        return problems(self.live.spec)

    def claims(self, resource: SearchRestore) -> frozenset[str]:  # noqa: ARG002 - see below
        """Return nothing: what a restore writes is known only once its snapshot has been read."""
        return frozenset()

    def owns(self, resource: SearchRestore) -> bool:
        """Return whether a restore has begun and not ended."""
        return resource.status.phase in UNFINISHED

    def leaves_something(self) -> bool:
        """Return whether indices may be closed for a restore that may not have begun."""
        return self.live.status.phase in CLOSED and any(each.closed for each in self.live.status.indices)

    async def clear(self, target: Target) -> Outcome | None:
        """Open again what was closed, so that its documents can be read; raises EngineError, LostLease."""
        if self.live.status.cluster_uuid != target.identity:
            return None  # It began in a database that is gone.
        work = RestoreWork(self.live, target.identity, rfc3339(self.now()))
        await self.tools.databases.ask(self.kind, target, work.reopen)
        return None

    def kept(self, outcome: Outcome) -> Outcome:
        """Return why a deleted restore stays, with the way out."""
        told = f"the indices that it has closed cannot be opened again: {outcome.message}; to leave them closed, remove"
        return Outcome(outcome.stage, outcome.reason, f"{told} the finalizer {FINALIZER}")

    def check(self) -> None:
        """Raise StopError for a restore that has ended: it is never repeated, whatever becomes of the indices."""
        status = self.live.status
        if status.phase == RestorePhase.DONE:
            raise StopError(_done(status))
        if status.phase == RestorePhase.REFUSED:
            raise StopError(Outcome(Stage.STALLED, "RestoreRefused", status.activity, RESYNC_SECONDS))
        super().check()

    async def preview(self, before: object) -> ObjectPreview:  # noqa: ARG002 - nothing of it is hidden
        """Return which indices would be restored, and which of them replace others."""
        name = f"{self.live.spec.repository}/{self.live.spec.snapshot}"

        async def look(target: Target) -> ObjectPreview:
            if self.live.status.phase and self.live.status.cluster_uuid == target.identity:
                raise StopError(Outcome(Stage.WORKING, "Restoring", "it has begun, and is not changed any more"))
            fresh = replace(self.live, status=SearchRestoreStatus())
            work = RestoreWork(fresh, target.identity, rfc3339(self.now()))
            step = await self.tools.databases.ask(self.kind, target, work.plan)
            if step.ends is not None:
                raise StopError(_ended(step.ends))
            indices, snapshot = step.status.indices, step.status.snapshot
            found = (FieldChange(each.name, _before(each), f"{each.source} of {snapshot}") for each in indices)
            does = "replace" if any(each.replaced for each in indices) else "create"
            return ObjectPreview(f"{self.live.spec.repository}/{snapshot}", does, changes=tuple(islice(found, MOST)))

        return await self.previewed(name, look)

    async def settle(self, target: Target) -> Outcome:
        """Go from phase to phase; raises StopError, EngineError, ApiError, LostLease."""
        status = self.live.status
        if status.phase and status.cluster_uuid != target.identity:
            self.keep(SearchRestoreStatus(conditions=status.conditions))  # It began in a database that is gone.
        async with self.tools.locks[cluster_id(self.live)]:  # So that two see what the other one has begun.
            return await self._advance(target)

    async def _advance(self, target: Target) -> Outcome:
        for _ in range(STEPS):
            work = RestoreWork(self.live, target.identity, rfc3339(self.now()))
            step = await self.tools.databases.ask(self.kind, target, work.run)
            if step.ends is not None:
                self.keep(step.status)
                return _ended(step.ends)
            if step.status.phase == RestorePhase.DONE:
                self.keep(step.status)
                self.tell(Severity.NORMAL, "Restored", f"all primaries are restored from {step.status.snapshot}")
                return _done(step.status)
            if not self.live.status.phase and (other := self._rival(step.status)) is not None:
                return _after(other)
            if any(each.closed for each in step.status.indices):
                await self.hold()
            phase = Outcome(Stage.WORKING, step.status.phase, f"the snapshot {step.status.snapshot} is being restored")
            await self.write(step.status, phase)
        return Outcome(Stage.WORKING, "Restoring", "")

    def _rival(self, status: SearchRestoreStatus) -> SearchRestore | None:
        """Return another restore that has begun to write one of the indices of a status."""
        mine = {each.name for each in status.indices}
        at_work = (other for other in self.others() if self.owns(other))
        return next((o for o in at_work if mine & {each.name for each in o.status.indices}), None)


def _after(other: SearchRestore) -> Outcome:
    """Return that a restore waits for another one, which may not get on by itself."""
    name = other.metadata.name
    if stalled_reason(other.status) in ENDLESS:
        message = f"the SearchRestore {name} has begun to write indices of these names, and stalls: delete it first"
        return Outcome(Stage.STALLED, "IndicesBusy", message)
    return Outcome(Stage.WORKING, "IndicesBusy", f"the SearchRestore {name} is writing indices of these names")


def _ended(found: Decision) -> Outcome:
    """Return why a restore does not go on."""
    return Outcome(Stage.STALLED if found.do is Do.STOP else Stage.WORKING, found.reason, found.message)


def _before(each: RestoredIndex) -> str | None:
    """Return what is lost by a restore of an index."""
    if not each.replaced:
        return None
    return "an open index, whose data is lost" if each.closed else "a closed index, whose data is lost"


def _done(status: SearchRestoreStatus) -> Outcome:
    indices = amount(len(status.indices), "index", "indices")
    message = f"restored from {status.snapshot}: {indices} with {amount(status.documents or 0, 'document')}"
    return Outcome(Stage.READY, "Restored", message)
