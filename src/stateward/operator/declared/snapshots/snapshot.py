"""One reconciliation of one snapshot: claim it, start it, follow it, and delete it with its resource."""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.snapshots.snapshot import SearchSnapshot, SearchSnapshotStatus
from stateward.api.values.problem import Problem
from stateward.engines.connection.base import Target
from stateward.engines.search.database.session import Session
from stateward.engines.search.declared.decision import Decision, Do
from stateward.engines.search.declared.requests import versions_of_nodes
from stateward.engines.search.snapshots.decision import (
    DesiredSnapshot,
    complaint,
    decide,
    name_of,
    observed,
    problems,
    remove,
)
from stateward.engines.search.snapshots.records import SUCCESS, ShardsStats, Snapshot
from stateward.engines.search.snapshots.requests import is_restoring, one_snapshot, progress, send, size_of
from stateward.kube.events.event_record import Severity
from stateward.operator.declared.reporting import Outcome, Stage
from stateward.operator.declared.snapshots.repositories import RepositoryReconciliation
from stateward.operator.declared.tools import Tools

CLAIMS = 2
"""Decisions in one reconciliation: a claim, and the start."""
SETTLED_SECONDS = 3600.0
"""Seconds until a finished snapshot is read again: nothing changes it but its deletion."""


@dataclass(frozen=True)
class Taken:
    """What was decided, the snapshot as the repository has it, its size in bytes, and its shards while it runs."""

    decision: Decision
    found: Snapshot | None = None
    size: int | None = None
    shards: ShardsStats | None = None


async def take(session: Session, desired: DesiredSnapshot) -> Taken:
    """Decide from a read of this session, start the snapshot, and read it again; raises EngineError."""
    repository = desired.spec.repository
    found = await one_snapshot(session, repository, desired.name)
    decision = decide(desired, found)
    if decision.request is not None:
        await send(session, decision.request)
        found = await one_snapshot(session, repository, desired.name)
        if found is None:
            return Taken(Decision(Do.WAIT, "Starting", "the database does not show the snapshot yet"))
        decision = decide(desired, found)
    if decision.do is not Do.NOTHING or found is None:
        return Taken(decision)
    if found.running:
        return Taken(decision, found, shards=(await progress(session, repository, desired.name)).shards_stats)
    known = desired.status.size_bytes
    return Taken(decision, found, await size_of(session, repository, desired.name) if known is None else known)


async def delete(session: Session, desired: DesiredSnapshot) -> Decision:
    """Delete the snapshot of a deleted resource; the decision is NOTHING once it is gone. Raises EngineError."""
    repository = desired.spec.repository
    found = await one_snapshot(session, repository, desired.name)
    restoring = found is not None and await is_restoring(session, repository, desired.name)
    decision = remove(desired, found, await versions_of_nodes(session), restoring=restoring)
    if decision.request is None:
        return decision
    await send(session, decision.request)
    left = await one_snapshot(session, repository, desired.name)
    return Decision(Do.NOTHING) if left is None else decision


class SnapshotReconciliation(RepositoryReconciliation[SearchSnapshot]):
    """One reconciliation of one snapshot."""

    def __init__(self, tools: Tools[SearchSnapshot], live: SearchSnapshot) -> None:
        super().__init__(tools, live)
        self.live: SearchSnapshot = live

    def problems(self) -> Iterable[Problem]:
        """Return what is wrong with the spec."""
        return problems(self.live.spec)

    def claims(self, resource: SearchSnapshot) -> frozenset[str]:
        """Return the snapshot in its repository."""
        return frozenset({f"snapshot/{resource.spec.repository}/{name_of(resource)}"})

    def owns(self, resource: SearchSnapshot) -> bool:
        """Return whether a resource has claimed its snapshot."""
        return bool(resource.status.claim)

    def leaves_something(self) -> bool:
        """Return whether the snapshot is to be deleted with the resource."""
        return bool(self.live.status.claim) and self.live.spec.deletion_policy is Retention.DELETE

    async def settle(self, target: Target) -> Outcome:
        """Take the snapshot, once; raises StopError, EngineError, ApiError, LostLease."""
        status = self.live.status
        if not status.state:
            self.check_begun()
        if not status.state and status.claim and status.cluster_uuid != target.identity:
            self.keep(SearchSnapshotStatus(conditions=status.conditions))  # Claimed, and the database is another now.
        await self.hold()
        for _ in range(CLAIMS):
            desired = self._desired()
            taken = await self.tools.databases.ask(
                self.kind, target, lambda session, desired=desired: take(session, desired)
            )
            if taken.decision.do is not Do.CLAIM:
                return self._done(taken)
            claimed = replace(self.live.status, claim=taken.decision.claim, cluster_uuid=target.identity)
            await self.write(claimed, Outcome(Stage.WORKING, taken.decision.claim, "it is being started"))
        return Outcome(Stage.WORKING, "Changing", "another client deletes the snapshot")

    async def clear(self, target: Target) -> Outcome | None:
        """Delete the snapshot; raises StopError, EngineError, LostLease."""
        desired = self._desired()
        decision = await self.tools.databases.ask(self.kind, target, lambda session: delete(session, desired))
        return None if decision.do is Do.NOTHING else Outcome(Stage.WORKING, decision.reason, decision.message)

    def _desired(self) -> DesiredSnapshot:
        meta, spec = self.live.metadata, self.live.spec
        owner = f"{meta.namespace}/{meta.name}"
        return DesiredSnapshot(name_of(self.live), spec, self.live.status, owner, meta.uid)

    def _done(self, taken: Taken) -> Outcome:
        decision, found = taken.decision, taken.found
        if decision.do is Do.STOP:
            return Outcome(Stage.STALLED, decision.reason, decision.message)
        if decision.do is not Do.NOTHING or found is None:
            return Outcome(Stage.WORKING, decision.reason, decision.message)
        before = self.live.status.state
        self.keep(observed(self.live.status, found, taken.size))
        if found.running:
            shards = taken.shards or ShardsStats()
            return Outcome(Stage.WORKING, "InProgress", f"{shards.done} of {shards.total} shards are saved")
        if found.state != SUCCESS:
            return Outcome(Stage.STALLED, "SnapshotFailed", complaint(found), SETTLED_SECONDS)
        if before != SUCCESS:
            self.tell(Severity.NORMAL, "SnapshotTaken", f"the snapshot {found.snapshot} is complete")
        return Outcome(Stage.READY, "Complete", "", SETTLED_SECONDS)
