"""One reconciliation of one restore: plan it, close what it replaces, start it, follow it, and count documents."""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from stateward.api.kinds.snapshots.restore import RestoredIndex, RestorePhase, SearchRestore, SearchRestoreStatus
from stateward.api.values.problem import Problem
from stateward.engines.connection.base import RefusedError, Target
from stateward.engines.search.database.session import Session
from stateward.engines.search.declared.decision import Decision, Do, doubt
from stateward.engines.search.declared.requests import versions_of_nodes
from stateward.engines.search.snapshots.records import Snapshot
from stateward.engines.search.snapshots.requests import (
    all_indices,
    all_snapshots,
    close_indices,
    documents_of,
    one_snapshot,
    open_indices,
    restored_bytes,
    send,
    settings_of,
    shard_rows,
)
from stateward.engines.search.snapshots.restoring import (
    Stored,
    claim,
    counted,
    foreign,
    listed,
    opened,
    pending,
    planned,
    problems,
    starting,
    to_close,
    unusable,
    with_histories,
)
from stateward.engines.search.snapshots.schedule import newest
from stateward.kube.events.event_record import Severity
from stateward.operator.declared.reporting import Outcome, Stage
from stateward.operator.declared.resource import RESYNC_SECONDS, Reconciliation, StopError, Tools
from stateward.planning.model.times import rfc3339

UNFINISHED = (RestorePhase.CLOSING, RestorePhase.STARTING, RestorePhase.RESTORING)
STEPS = 5
"""Phases in one reconciliation."""
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
        name = spec.snapshot or ""
        if spec.latest:
            last = newest(await all_snapshots(session, spec.repository))
            if last is None:
                return Step(status, Decision(Do.STOP, "SnapshotMissing", "the repository has no successful snapshot"))
            name = last.snapshot
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
        if (unclear := doubt(await versions_of_nodes(session))) is not None:
            return Step(status, unclear)
        if left := to_close(status, stored):
            await close_indices(session, left)
            stored = Stored.of(await all_indices(session))
            if left := to_close(status, stored):
                return Step(status, Decision(Do.WAIT, "Closing", f"the database has not closed {listed(left)} yet"))
        replaced = [each.name for each in status.indices or () if each.replaced and each.name in stored.open]
        return Step(with_histories(status, await settings_of(session, replaced)))

    async def start(self, session: Session) -> Step:
        """Start the restore, unless the database shows that it was started."""
        spec, status = self.live.spec, self.live.status
        found = await one_snapshot(session, spec.repository, status.snapshot)
        if found is None or found.uuid != status.snapshot_uuid:
            message = f"the snapshot {status.snapshot} is not the one any more that was chosen"
            return Step(status, Decision(Do.STOP, "SnapshotMissing", message))
        if (step := await self._begun(session, found)) is not None:
            return step
        if (unclear := doubt(await versions_of_nodes(session))) is not None:
            return Step(status, unclear)
        try:
            await send(session, starting(spec, status))
        except RefusedError as error:
            if error.status in BUSY:
                raise
            return await self._begun(session, found) or await self._refused(session, str(error))
        return Step(replace(status, phase=RestorePhase.RESTORING))

    async def _begun(self, session: Session, found: Snapshot) -> Step | None:
        """Return the step after a restore that was started before; None if it was not."""
        status, stored = self.live.status, Stored.of(await all_indices(session))
        there = opened(status, stored)
        if not there:
            return None
        others = foreign(there, stored, await settings_of(session, stored.all_parts(there)), found)
        if not others:
            return Step(replace(status, phase=RestorePhase.RESTORING))
        message = (
            f"there are open indices that do not come from the snapshot: {listed(others)}; nothing more is done. Make"
            " another SearchRestore"
        )
        return Step(status, Decision(Do.STOP, "IndicesExist", message))

    async def _refused(self, session: Session, reason: str) -> Step:
        """Open again what was closed for a restore that the database refuses."""
        status, stored = self.live.status, Stored.of(await all_indices(session))
        closed = [each.name for each in status.indices or () if each.closed and stored.open.get(each.name) is False]
        if closed:
            await open_indices(session, closed)
            message = (
                f"the database refuses the restore: {reason}; open again: {listed(closed)}. Make another SearchRestore"
            )
            return Step(replace(status, phase=RestorePhase.REFUSED), Decision(Do.STOP, "RestoreRefused", message))
        message = f"the database refuses the restore: {reason}"
        return Step(SearchRestoreStatus(conditions=status.conditions), Decision(Do.STOP, "Refused", message))

    async def follow(self, session: Session) -> Step:
        """See how far the restore is, and count the documents in the end."""
        status, stored = self.live.status, Stored.of(await all_indices(session))
        if gone := [each.name for each in status.indices or () if not stored.parts(each)]:
            message = f"another client has deleted {listed(gone)}; make another SearchRestore"
            return Step(status, Decision(Do.STOP, "IndicesMissing", message))
        parts = stored.all_parts(status.indices or ())
        done, total = await restored_bytes(session, parts)
        status = replace(status, recovered_bytes=done, total_bytes=total)
        if (waits := pending(parts, await shard_rows(session, parts))) is not None:
            return Step(status, waits)
        return Step(counted(status, stored, await documents_of(session, parts), self.now))


class RestoreReconciliation(Reconciliation[SearchRestore]):
    """One reconciliation of one restore."""

    def __init__(self, tools: Tools[SearchRestore], live: SearchRestore) -> None:
        super().__init__(tools, live)
        self.live: SearchRestore = live

    def leaves_something(self) -> bool:
        """Return False: restored indices stay."""
        return False

    async def clear(self, target: Target) -> Outcome | None:  # noqa: ARG002 - nothing is removed
        """Remove nothing."""
        return None

    def problems(self) -> Iterable[Problem]:
        """Return what is wrong with the spec."""
        return problems(self.live.spec)

    def claims(self, resource: SearchRestore) -> frozenset[str]:
        """Return the indices that a restore is writing."""
        at_work = resource.status.phase in UNFINISHED
        return frozenset(f"index/{each.name}" for each in resource.status.indices or () if at_work)

    def owns(self, resource: SearchRestore) -> bool:
        """Return whether a restore has begun and not ended."""
        return resource.status.phase in UNFINISHED

    def check(self) -> None:
        """Raise StopError for a restore that has ended: it is never repeated, whatever becomes of the indices."""
        status = self.live.status
        if status.phase == RestorePhase.DONE:
            raise StopError(_done(status))
        if status.phase == RestorePhase.REFUSED:
            raise StopError(Outcome(Stage.STALLED, "RestoreRefused", status.activity, RESYNC_SECONDS))
        super().check()

    async def settle(self, target: Target) -> Outcome:
        """Go from phase to phase; raises StopError, EngineError, ApiError, LostLease."""
        status = self.live.status
        if status.phase and status.cluster_uuid != target.identity:
            self.keep(SearchRestoreStatus(conditions=status.conditions))  # It began in a database that is gone.
        for _ in range(STEPS):
            work = RestoreWork(self.live, target.identity, rfc3339(self.now()))
            step = await self.tools.databases.ask(self.kind, target, work.run)
            if step.ends is not None:
                self.keep(step.status)
                stalled = step.ends.do is Do.STOP
                return Outcome(Stage.STALLED if stalled else Stage.WORKING, step.ends.reason, step.ends.message)
            if step.status.phase == RestorePhase.DONE:
                self.keep(step.status)
                self.tell(Severity.NORMAL, "Restored", f"all primaries are restored from {step.status.snapshot}")
                return _done(step.status)
            phase = Outcome(Stage.WORKING, step.status.phase, f"the snapshot {step.status.snapshot} is being restored")
            await self.write(step.status, phase)
        return Outcome(Stage.WORKING, "Restoring", "")


def _done(status: SearchRestoreStatus) -> Outcome:
    restored: list[RestoredIndex] = status.indices or []
    message = f"{len(restored)} indices with {status.documents} documents are restored from {status.snapshot}"
    return Outcome(Stage.READY, "Restored", message)
