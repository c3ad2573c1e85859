"""What the reconciliations of all declared resources have in common: the cluster, the finalizer, the status, events.

A declared resource names a cluster and describes something inside its database. Its reconciliation is a subclass that
says how that is settled, and how it is removed again.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Record
from stateward.api.values.conditions import readable
from stateward.api.values.problem import Problem, in_short
from stateward.engines.connection.base import EngineError, RefusedError, Target
from stateward.engines.search.declared.decision import Decision, Do
from stateward.engines.search.declared.desired import Desired
from stateward.engines.search.declared.preview import ObjectPreview
from stateward.kube.client.client import PatchKind
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.objects.errors import Conflict, Invalid
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.metadata import key_of
from stateward.operator.declared.database import Written, clear, settle
from stateward.operator.declared.record_key import RecordKey
from stateward.operator.declared.reporting import (
    APPLIED,
    CONFLICT,
    Outcome,
    Stage,
    is_ready,
    kept_by,
    reported,
    shortened,
)
from stateward.operator.declared.tools import R, Tools
from stateward.operator.declared.values import without_values
from stateward.operator.declared.views import BY_CLUSTER, FINALIZER, cluster_id
from stateward.planning.report.reconcile_failure import REASON

RESYNC_SECONDS = 300.0
"""Seconds until a settled resource is compared again: databases report no changes."""
RETRY_SECONDS = 15.0
"""Seconds until the next attempt while something is missing that comes by itself."""
REFUSED_SECONDS = 60.0
"""Seconds until a request is sent again that the database refused."""
CLAIMS = 3
"""Decisions in one reconciliation: a claim, the write, and one more if the object appeared in between."""
CHANGED = 409
"""Status of a write that named an older version than the stored one."""
FAILED = 500
"""Status with which a database answers when it cannot read or write a repository, or may not."""


class StopError(Exception):
    """The end of a reconciliation: its outcome, and what another client has changed, if that is only reported."""

    def __init__(self, outcome: Outcome, drift: str = "") -> None:
        super().__init__(outcome.message)
        self.outcome = outcome
        self.drift = drift


class Reconciliation(ABC, Generic[R]):
    """One reconciliation of one resource, from its state when it was read; `live` is its state after the last write."""

    refused_at = "spec"
    """The field that the database judges."""

    def __init__(self, tools: Tools[R], live: R) -> None:
        self.tools = tools
        self.live: Any = live
        self._stored: Any = live.status
        """The status that the API server has, as far as is known."""
        self.key = RecordKey.of(tools.root, tools.resource.kind, key_of(self.live))
        self.kind = str(self.live.spec.cluster.kind)
        self.where = ObjectKey(self.live.metadata.namespace, self.live.spec.cluster.name)

    @abstractmethod
    async def settle(self, target: Target) -> Outcome:
        """Make the database as it is declared; raises StopError, EngineError, ApiError, LostLease."""

    @abstractmethod
    async def clear(self, target: Target) -> Outcome | None:
        """Remove from the database what belongs to the resource; None if nothing is left.

        Raises StopError, EngineError, ApiError, LostLease.
        """

    @abstractmethod
    def leaves_something(self) -> bool:
        """Return whether the deletion of the resource has to remove anything from the database."""

    @abstractmethod
    def problems(self) -> Iterable[Problem]:
        """Return what is wrong with the spec, whatever the database has."""

    @abstractmethod
    def claims(self, resource: R) -> frozenset[str]:
        """Return what a resource of this kind declares in the database, as labels."""

    @abstractmethod
    def owns(self, resource: R) -> bool:
        """Return whether a resource of this kind has anything in the database."""

    def has(self, resource: R, claim: str) -> bool:  # noqa: ARG002 - subclasses read it
        """Return whether a resource of this kind has one of its claims in the database."""
        return self.owns(resource)

    def repository(self) -> str:
        """Return the name of the snapshot repository that it is, or needs; empty if it concerns none."""
        return ""

    def refusal(self, text: str) -> str:  # noqa: ARG002 - subclasses read it
        """Return which field a refusal of the database is about, and what it means, in a clause."""
        return f"{self.refused_at}: the database refuses it"

    def check(self) -> None:
        """Raise StopError for a wrong spec, or if another resource is in charge of what this one declares."""
        if wrong := list(self.problems()):
            text = in_short([each.public for each in wrong])
            raise StopError(Outcome(Stage.STALLED, "InvalidSpec", text, RESYNC_SECONDS))
        for other, both in self._rivals():
            # Also one that is being deleted: until it is gone it would delete what this one has written.
            if self._seniority(other, both) < self._seniority(self.live, both):
                message = f"{both} is declared by the {self.tools.resource.kind} {other.metadata.name} already"
                raise StopError(Outcome(Stage.STALLED, CONFLICT, f"{message}; delete one of them"))

    def doubled(self) -> str:
        """Return which younger resource declares the same, in a sentence; empty if none does."""
        for other, both in self._rivals():
            kind, name = self.tools.resource.kind, other.metadata.name
            return f"{both} is also declared by the {kind} {name}; delete one of them"
        return ""

    def others(self) -> list[R]:
        """Return the other resources of this kind for the same cluster, by name."""
        found = self.tools.objects.indexed(BY_CLUSTER, cluster_id(self.live))
        others = (each for each in found if each.metadata.uid != self.live.metadata.uid)
        return sorted(others, key=lambda each: each.metadata.name)

    def _rivals(self) -> Iterator[tuple[R, str]]:
        mine = self.claims(self.live)
        for other in self.others():
            for both in sorted(mine & self.claims(other)):
                yield other, both

    def _seniority(self, resource: Any, claim: str) -> tuple[bool, bool, str, str]:
        """Return what rivals are ordered by: the first that has it in the database, or anything; then the older one."""
        meta = resource.metadata
        return (not self.has(resource, claim), not self.owns(resource), meta.creation_timestamp or "", meta.uid)

    async def applied(
        self,
        target: Target,
        desired: Callable[[], Desired],
        claim: Callable[[Decision], None],
        secrets: tuple[str, ...] = (),
    ) -> Written:
        """Write one object into the database if it is not as desired, and return what was done.

        `desired` gives its desired state by the status in `live`, and `claim` notes a claim there. Raises StopError
        with the reason why it is not written, ApiError, LostLease.
        """
        try:
            for _ in range(CLAIMS):
                wanted = desired()
                written = await self.tools.databases.ask(
                    self.kind, target, lambda session, wanted=wanted: settle(session, self.key, wanted)
                )
                if written.decision.do is not Do.CLAIM:
                    return self._settled(written)
                claim(written.decision)
                outcome = Outcome(Stage.WORKING, written.decision.claim, "it is written to the database")
                await self.write(self.live.status, outcome)
        except EngineError as error:
            raise StopError(self.failed(error, secrets)) from error
        raise StopError(Outcome(Stage.WORKING, "Changing", "another client creates and deletes it"))

    def _settled(self, written: Written) -> Written:
        """Return a decision that ended well, with an event for a write; raises StopError for all others."""
        decision = written.decision
        if decision.do is Do.STOP:
            raise StopError(Outcome(Stage.STALLED, decision.reason, decision.message, REFUSED_SECONDS), decision.drift)
        if decision.do is Do.WAIT:
            raise StopError(Outcome(Stage.WORKING, decision.reason, decision.message))
        if decision.do is Do.SEND and decision.drift:
            self.tell(Severity.WARNING, "DriftCorrected", f"{decision.drift}; it is written again")
        elif decision.do is Do.SEND:
            self.tell(Severity.NORMAL, APPLIED, "it is in the database as declared")
        return written

    async def cleared(self, target: Target, desired: Desired) -> Decision:
        """Remove one object, and return what was decided about what is left. Raises EngineError, LostLease."""
        return await self.tools.databases.ask(self.kind, target, lambda session: clear(session, self.key, desired))

    async def previewed(self, name: str, look: Callable[[Target], Awaitable[ObjectPreview]]) -> ObjectPreview:
        """Return what `look` finds in the database, or why the resource would wait or be refused."""
        try:
            self.check()
            return await look(self.reachable(self.tools.databases.cluster(self.kind, self.where)))
        except StopError as stop:
            return _blocked(name, stop.outcome)
        except EngineError as error:
            return _blocked(name, self.failed(error))

    async def run(self) -> float | None:
        """Reconcile; returns the seconds until the next time. Raises ApiError, LostLease."""
        cluster = self.tools.databases.cluster(self.kind, self.where)
        if not self.tools.databases.managed(cluster):
            return None  # Another operator manages the cluster, and this resource.
        if self.live.metadata.deletion_timestamp is not None:
            return await self._end(cluster)
        if self._just_started(cluster):
            return RETRY_SECONDS / 3
        try:
            self.check()
            outcome = await self.settle(self.reachable(cluster))
        except StopError as stop:
            outcome = await self.stopped(stop.outcome, cluster)
        except EngineError as error:
            outcome = self.failed(error)
        try:
            await self.write(self.live.status, outcome)
        except Conflict:
            await self._write_beside_edits(self.live.status, outcome)
            raise
        return outcome.retry or (RESYNC_SECONDS if outcome.stage is Stage.READY else RETRY_SECONDS)

    async def stopped(self, outcome: Outcome, cluster: Cluster | None) -> Outcome:  # noqa: ARG002 - subclasses read it
        """Do what can be done while nothing can be written; returns the outcome. Raises ApiError, LostLease."""
        return outcome

    def _just_started(self, cluster: Cluster | None) -> bool:
        """Return whether this process has not reached the database yet, and the status says that all is well.

        What is in the database has not changed by a restart of the operator, so the status does not change either.
        """
        known = cluster is not None and cluster.metadata.deletion_timestamp is None
        unreached = self.tools.databases.target(self.kind, self.where) is None if known else False
        return unreached and self.was_ready()

    def was_ready(self) -> bool:
        """Return whether the status calls this generation ready."""
        return self.live.status.observed_generation == self.live.metadata.generation and is_ready(self.live.status)

    async def fail(self, sentence: str) -> None:
        """Report that reconciliations fail; raises ApiError.

        The generation that was observed stays what it was: an edit that was not obeyed is still one.
        """
        status = self.live.status
        await self.write(status, Outcome(Stage.STALLED, REASON, sentence), status.observed_generation)

    def reachable(self, cluster: Cluster | None) -> Target:
        """Return how the database is reached; raises StopError with what is missing."""
        if cluster is None:
            message = f"there is no {self.kind} {self.where.name} in this namespace"
            raise StopError(Outcome(Stage.STALLED, "ClusterMissing", message))
        if cluster.metadata.deletion_timestamp is not None:
            raise StopError(Outcome(Stage.WORKING, "ClusterDeleted", f"{self.where.name} is being deleted"))
        target = self.tools.databases.target(self.kind, self.where)
        if target is None or not target.identity:
            raise StopError(Outcome(Stage.WORKING, "DatabaseNotFormed", f"{self.where.name} is not formed yet"))
        return target

    async def _end(self, cluster: Cluster | None) -> float | None:
        """Remove what belongs to the resource, and let it go; raises ApiError, LostLease."""
        if FINALIZER not in self.live.metadata.finalizers:
            return None
        outcome = await self._left(cluster)
        if outcome is not None:
            await self.write(self.live.status, outcome)
            return RETRY_SECONDS
        await self._finalizers([each for each in self.live.metadata.finalizers if each != FINALIZER])
        return None

    async def _left(self, cluster: Cluster | None) -> Outcome | None:
        """Return why something is still in the database; None if nothing is left to remove."""
        if not self.leaves_something():
            return None
        if cluster is None or cluster.metadata.deletion_timestamp is not None:
            if await self.tools.databases.gone(self.kind, self.where):
                return None
            if cluster is None:
                return self.kept(Outcome(Stage.WORKING, "ClusterUnknown", f"{self.where.name} is not known"))
            return self.kept(Outcome(Stage.WORKING, "ClusterDeleted", f"{self.where.name} is being deleted"))
        try:
            outcome = await self.clear(self.reachable(cluster))
        except StopError as stop:
            outcome = stop.outcome
        except EngineError as error:
            outcome = self.failed(error)
        return None if outcome is None else self.kept(outcome)

    def kept(self, outcome: Outcome) -> Outcome:
        """Return why a deleted resource stays, with the way out."""
        return kept_by(outcome)

    async def hold(self) -> None:
        """Set the finalizer; raises ApiError."""
        if FINALIZER not in self.live.metadata.finalizers:
            await self._finalizers([*self.live.metadata.finalizers, FINALIZER])

    async def _finalizers(self, finalizers: list[str]) -> None:
        meta = self.live.metadata
        patch = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": finalizers}}
        made: Any = await self.tools.api.patch(self.tools.resource, key_of(self.live), patch, kind=PatchKind.MERGE)
        self.live = replace(made, status=self.live.status)

    def keep(self, status: Record) -> None:
        """Remember a status that is written at the end."""
        self.live = replace(self.live, status=status)

    async def write(self, status: Any, outcome: Outcome, generation: int | None = None) -> None:
        """Write a status if it is new; raises Conflict if another client was faster, ApiError."""
        meta, outcome = self.live.metadata, shortened(outcome)
        made = reported(status, outcome, meta.generation if generation is None else generation, self.now())
        if outcome.stage is Stage.STALLED and outcome.message != status.activity:
            self.tell(Severity.WARNING, outcome.reason, outcome.message)
        await self.store(made)

    async def store(self, made: Any) -> None:
        """Write a whole status if it is new; raises as `write` does."""
        made = readable(made)
        meta = self.live.metadata
        known: Any = self.tools.objects.get(key_of(self.live))
        if known is not None and known.metadata.resource_version == meta.resource_version and known.status == made:
            return
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": meta.uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
            {"op": "add", "path": "/status", "value": msgspec.to_builtins(made)},
        ]
        try:
            written: Any = await self.tools.api.patch(
                self.tools.resource, key_of(self.live), patch, kind=PatchKind.JSON, subresource="status"
            )
        except Invalid as error:
            if error.causes:
                raise
            raise Conflict(f"{key_of(self.live)} has changed since it was read") from error
        self.live = replace(written, status=made)
        self._stored = made

    async def _write_beside_edits(self, status: Any, outcome: Outcome) -> None:
        """Write a status although the resource was edited meanwhile: it says what was done. Raises ApiError.

        The disaster this prevents: the body is edited while it is written for the first time. Without a record of that
        write, the object counts as made by others, and the edit waits for a person. What another process has written
        stays.
        """
        generation = self.live.metadata.generation
        for _ in range(CLAIMS):
            found: Any = await self.tools.api.get(self.tools.resource, key_of(self.live))
            if found.metadata.uid != self.live.metadata.uid or found.status != self._stored:
                break
            self.live = found
            with suppress(Conflict):
                await self.write(status, outcome, generation)
                break

    def failed(self, error: EngineError, secrets: tuple[str, ...] = ()) -> Outcome:
        """Return the outcome of a request that failed; the database's reason never shows values of Secrets."""
        text = without_values(str(error), secrets)
        if isinstance(error, RefusedError) and error.status == FAILED and (repository := self.repository()):
            message = f"the database cannot use the repository {repository}: {text}"
            return Outcome(Stage.STALLED, "RepositoryFails", message, REFUSED_SECONDS)
        if isinstance(error, RefusedError) and error.status == CHANGED:
            return Outcome(Stage.WORKING, "Changing", f"another client changes it: {text}")
        if isinstance(error, RefusedError) and error.lasting:
            message = f"{self.refusal(text)}: {text}"
            return Outcome(Stage.STALLED, "Refused", message, REFUSED_SECONDS)
        return Outcome(Stage.WORKING, "DatabaseUnreachable", text)

    def tell(self, severity: Severity, reason: str, note: str) -> None:
        """Tell people what happened, as an event."""
        subject = about(self.tools.resource, self.live)
        self.tools.recorder.record(Occurrence(subject, severity, reason, "Reconcile", note))

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self.tools.clock.now().timestamp()


def _blocked(name: str, outcome: Outcome) -> ObjectPreview:
    does = {Stage.READY: "nothing", Stage.WORKING: "wait", Stage.STALLED: "refuse"}[outcome.stage]
    return ObjectPreview(name, does, outcome.reason, outcome.message)
