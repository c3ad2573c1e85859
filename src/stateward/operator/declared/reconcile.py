"""One reconciliation of one declared object: check, read its values, decide, write, and report."""

from dataclasses import dataclass

import msgspec
import structlog
from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster, Retention
from stateward.api.kinds.search_object import Claim, SearchObject, SearchObjectStatus
from stateward.engines.connection.base import EngineError, RefusedError, Target
from stateward.engines.search.declared.comparison import canonical
from stateward.engines.search.declared.decision import Decision, Do, Wish
from stateward.engines.search.declared.identity import Declared, declared, problems, settings_of
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.pointers import found as values_at
from stateward.engines.search.declared.preview import ObjectPreview, preview
from stateward.engines.search.declared.requests import read
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import Conflict, Invalid, NotFound
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.metadata import key_of
from stateward.kube.timing.clock import Clock
from stateward.operator.declared.database import Databases, Written, clear, digest_of, follow_policy, settle
from stateward.operator.declared.reporting import APPLIED, Outcome, Stage, reported
from stateward.operator.declared.values import NoValueError, with_values, without_values
from stateward.operator.declared.views import BY_CLUSTER, FINALIZER, SEARCH_OBJECTS, claimed, cluster_id, seniority
from stateward.packages.restarts.digests import Key
from stateward.planning.model.times import rfc3339

_log = structlog.get_logger(__name__)

RESYNC_SECONDS = 300.0
"""Seconds until a settled object is compared again: databases report no changes."""
RETRY_SECONDS = 15.0
"""Seconds until the next attempt while something is missing that comes by itself."""
REFUSED_SECONDS = 60.0
"""Seconds until a request is sent again that the database refused."""
CHANGED = 409
"""Status of a write that named an older version than the stored one."""
CLAIMS = 3
"""Decisions in one reconciliation: a claim, the write, and one more if the object appeared in between."""


@dataclass(frozen=True)
class Tools:
    """What all reconciliations share."""

    api: Api
    databases: Databases
    objects: Store[SearchObject]
    recorder: EventRecorder
    clock: Clock
    key: Key


class StopError(Exception):
    """The end of a reconciliation before the database is asked."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


async def reconcile(tools: Tools, key: ObjectKey) -> float | None:
    """Reconcile one object; returns the seconds until the next time. Raises ApiError, LostLease."""
    try:
        live = await tools.api.get(SEARCH_OBJECTS, key)
    except NotFound:
        return None
    return await Reconciliation(tools, live).run()


class Reconciliation:
    """One reconciliation, from the state of the resource when it was read."""

    def __init__(self, tools: Tools, live: SearchObject) -> None:
        self._tools = tools
        self._live = live
        self._kind = str(live.spec.cluster.kind)
        self._where = ObjectKey(live.metadata.namespace, live.spec.cluster.name)

    async def run(self) -> float | None:
        """Reconcile; returns the seconds until the next time. Raises ApiError, LostLease."""
        cluster = self._tools.databases.cluster(self._kind, self._where)
        if not self._tools.databases.managed(cluster):
            return None  # Another operator manages the cluster, and this object.
        if self._live.metadata.deletion_timestamp is not None:
            return await self._end(cluster)
        try:
            outcome = await self._settle(cluster)
        except StopError as stop:
            outcome = stop.outcome
        await self._write(self._live.status, outcome)
        return outcome.retry or (RESYNC_SECONDS if outcome.stage is Stage.READY else RETRY_SECONDS)

    async def preview(self) -> ObjectPreview:
        """Return what a reconciliation would do; it reads the database and writes nothing. Raises LostLease."""
        name = self._live.spec.object or self._live.spec.path or ""
        try:
            cluster = self._tools.databases.cluster(self._kind, self._where)
            what, target = self._checked(), self._reachable(cluster)
            if self._live.status.cluster_uuid != target.identity:
                self._live = replace(self._live, status=SearchObjectStatus())
            self._alone()
            self._after_others(what)
            wish = self._wish(what, self._live.spec.body)
            actual = await self._tools.databases.ask(self._kind, target, lambda session: read(session, what))
        except StopError as stop:
            does = "refuse" if stop.outcome.stage is Stage.STALLED else "wait"
            return ObjectPreview(name, does, stop.outcome.reason, stop.outcome.message)
        except EngineError as error:
            return ObjectPreview(name, "wait", "DatabaseUnreachable", str(error))
        return preview(wish, actual, digest_of(self._tools.key, wish, actual))

    async def fail(self, sentence: str) -> None:
        """Report that reconciliations fail; raises ApiError."""
        await self._write(self._live.status, Outcome(Stage.STALLED, "ReconcileFailed", sentence))

    async def _settle(self, cluster: Cluster | None) -> Outcome:
        what, spec = self._checked(), self._live.spec
        target = self._reachable(cluster)
        if self._live.status.claim and self._live.status.cluster_uuid != target.identity:
            self._live = replace(self._live, status=SearchObjectStatus(conditions=self._live.status.conditions))
        if spec.paused:
            return Outcome(Stage.READY, "Paused", "spec.paused: nothing is written to the database", RESYNC_SECONDS)
        self._alone()
        self._after_others(what)
        await self._hold()
        try:
            body, secrets = await with_values(self._tools.api, self._live)
        except NoValueError as error:
            return Outcome(Stage.STALLED, error.reason, error.message)
        try:
            for _ in range(CLAIMS):
                wish = self._wish(what, body)
                written = await self._tools.databases.ask(
                    self._kind, target, lambda session, wish=wish: settle(session, self._tools.key, wish)
                )
                if written.decision.do is not Do.CLAIM:
                    return await self._done(wish, written, target)
                await self._claim(what, written.decision, target)
        except EngineError as error:
            return _failed(error, secrets)
        return Outcome(Stage.WORKING, "Changing", "another client creates and deletes the object")

    def _checked(self) -> Declared:
        """Return the object that is meant; raises StopError with all problems of the spec."""
        wrong = list(problems(self._live.spec))
        if wrong:
            text = "; ".join(each.public for each in wrong)
            raise StopError(Outcome(Stage.STALLED, "InvalidSpec", text, RESYNC_SECONDS))
        return declared(self._live.spec)

    def _reachable(self, cluster: Cluster | None) -> Target:
        """Return how the database is reached; raises StopError with what is missing."""
        if cluster is None:
            message = f"there is no {self._kind} {self._where.name} in this namespace"
            raise StopError(Outcome(Stage.STALLED, "ClusterMissing", message))
        if cluster.metadata.deletion_timestamp is not None:
            raise StopError(Outcome(Stage.WORKING, "ClusterDeleted", f"{self._where.name} is being deleted"))
        target = self._tools.databases.target(self._kind, self._where)
        if target is None or not target.identity:
            raise StopError(Outcome(Stage.WORKING, "DatabaseNotFormed", f"{self._where.name} is not formed yet"))
        return target

    def _others(self) -> list[SearchObject]:
        others = self._tools.objects.indexed(BY_CLUSTER, cluster_id(self._live))
        return [each for each in others if each.metadata.uid != self._live.metadata.uid]

    def _alone(self) -> None:
        """Raise StopError if another resource is in charge of the same object."""
        mine = claimed(self._live)
        for other in self._others():
            both = sorted(mine & claimed(other))
            if both and seniority(other) < seniority(self._live) and other.metadata.deletion_timestamp is None:
                message = f"{both[0]} is declared by the SearchObject {other.metadata.name} already; delete one of them"
                raise StopError(Outcome(Stage.STALLED, "Conflict", message))

    def _doubled(self) -> str:
        """Return which younger resource declares the same object, in a sentence; empty if none does."""
        mine = claimed(self._live)
        for other in sorted(self._others(), key=lambda each: each.metadata.name):
            if both := sorted(mine & claimed(other)):
                return f"{both[0]} is also declared by the SearchObject {other.metadata.name}; delete one of them"
        return ""

    def _after_others(self, what: Declared) -> None:
        """Raise StopError while an object that this one refers to is declared and not in the database yet."""
        if self._live.status.claim in (Claim.OWNED, Claim.MERGED):
            return
        needed = {
            f"{kind}/{name}"
            for kind, pointers in what.kind.refers.items()
            for pointer in pointers
            for name in values_at(self._live.spec.body, pointer)
        }
        for other in self._others():
            if other.spec.object in needed and other.status.claim not in (Claim.OWNED, Claim.MERGED):
                message = f"waits for {other.spec.object} of the SearchObject {other.metadata.name}"
                raise StopError(Outcome(Stage.WORKING, "DependencyPending", message))

    def _wish(self, what: Declared, body: dict[str, object]) -> Wish:
        owner = f"{self._live.metadata.namespace}/{self._live.metadata.name}"
        digest = self._tools.key.digest(canonical(body))
        return Wish(what, self._live.spec, self._live.status, body, digest, owner)

    async def _done(self, wish: Wish, written: Written, target: Target) -> Outcome:
        """Return the outcome of a decision, with the new status in `self._live`."""
        decision = written.decision
        if decision.do is Do.STOP:
            self._keep(replace(self._live.status, drift=decision.drift))
            return Outcome(Stage.STALLED, decision.reason, decision.message, RESYNC_SECONDS / 5)
        if decision.do is Do.WAIT:
            return Outcome(Stage.WORKING, decision.reason, decision.message)
        sent = decision.do is Do.SEND
        settings = sorted(settings_of(wish.sent)) if wish.what.kind.write is Write.SETTINGS else None
        self._keep(
            replace(
                self._live.status,
                object=wish.what.label,
                claim=decision.claim,
                cluster_uuid=target.identity,
                applied=wish.digest,
                stored=written.stored if sent else self._live.status.stored,
                settings=settings,
                drift="",
                applied_time=rfc3339(self._now()) if sent else self._live.status.applied_time,
            )
        )
        if sent:
            self._tell_write(decision)
        return await self._followed(wish, target)

    def _tell_write(self, decision: Decision) -> None:
        if decision.drift:
            self._tell(Severity.WARNING, "DriftCorrected", f"{decision.drift}; it is written again")
        else:
            self._tell(Severity.NORMAL, "Applied", "it is in the database as declared")

    async def _followed(self, wish: Wish, target: Target) -> Outcome:
        """Return the outcome of an applied object: ready, once indices follow it where that is asked for."""
        if wish.spec.apply_to_existing:
            left = await self._tools.databases.ask(self._kind, target, lambda session: follow_policy(session, wish))
            if left:
                message = f"{left} indices still run an earlier version of the policy"
                return Outcome(Stage.WORKING, "IndicesFollow", message, REFUSED_SECONDS)
        return Outcome(Stage.READY, APPLIED, self._doubled())

    async def _hold(self) -> None:
        """Set the finalizer; raises ApiError."""
        meta = self._live.metadata
        if FINALIZER in meta.finalizers:
            return
        patch = {
            "metadata": {
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
                "finalizers": [*meta.finalizers, FINALIZER],
            }
        }
        made = await self._tools.api.patch(SEARCH_OBJECTS, key_of(self._live), patch, kind=PatchKind.MERGE)
        self._live = replace(made, status=self._live.status)

    async def _claim(self, what: Declared, decision: Decision, target: Target) -> None:
        """Write a claim before the first write to the database; raises Conflict, ApiError."""
        status = replace(self._live.status, claim=decision.claim, cluster_uuid=target.identity)
        if what.kind.write is Write.SETTINGS:
            settings = settings_of(self._live.spec.body).keys() | set(status.settings or ())
            status = replace(status, settings=sorted(settings))
        await self._write(status, Outcome(Stage.WORKING, decision.claim, "it is written to the database"))

    async def _end(self, cluster: Cluster | None) -> float | None:
        """Delete the object in the database, and let the resource go; raises ApiError, LostLease."""
        if FINALIZER not in self._live.metadata.finalizers:
            return None
        outcome = await self._cleared(cluster)
        if outcome is not None:
            await self._write(self._live.status, outcome)
            return RETRY_SECONDS
        meta = self._live.metadata
        left = [each for each in meta.finalizers if each != FINALIZER]
        patch = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": left}}
        await self._tools.api.patch(SEARCH_OBJECTS, key_of(self._live), patch, kind=PatchKind.MERGE)
        return None

    async def _cleared(self, cluster: Cluster | None) -> Outcome | None:
        """Return why the object in the database is still there; None if nothing is left to delete."""
        spec, status = self._live.spec, self._live.status
        if not status.claim or status.claim == Claim.MERGED or spec.deletion_policy is Retention.RETAIN:
            return None
        if cluster is None or cluster.metadata.deletion_timestamp is not None:
            gone = await self._tools.databases.gone(self._kind, self._where)
            return None if gone else Outcome(Stage.WORKING, "ClusterUnknown", f"{self._where.name} is not known")
        try:
            target, what = self._reachable(cluster), self._checked()
        except StopError as stop:
            return _kept_by(stop.outcome)
        if status.cluster_uuid != target.identity:
            return None  # The database that had the object is gone.
        wish = self._wish(what, spec.body)
        try:
            decision = await self._tools.databases.ask(self._kind, target, lambda session: clear(session, wish))
        except EngineError as error:
            return _kept_by(_failed(error, ()))
        return None if decision.do is Do.NOTHING else Outcome(Stage.WORKING, decision.reason, decision.message)

    def _keep(self, status: SearchObjectStatus) -> None:
        self._live = replace(self._live, status=status)

    async def _write(self, status: SearchObjectStatus, outcome: Outcome) -> None:
        """Write a status if it is new; raises Conflict if another client was faster, ApiError."""
        meta = self._live.metadata
        made = reported(status, outcome, meta.generation, self._now())
        if outcome.stage is Stage.STALLED and outcome.message != status.activity:
            self._tell(Severity.WARNING, outcome.reason, outcome.message)
        known = self._tools.objects.get(key_of(self._live))
        if known is not None and known.metadata.resource_version == meta.resource_version and known.status == made:
            return
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": meta.uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
            {"op": "add", "path": "/status", "value": msgspec.to_builtins(made)},
        ]
        try:
            written = await self._tools.api.patch(
                SEARCH_OBJECTS, key_of(self._live), patch, kind=PatchKind.JSON, subresource="status"
            )
        except Invalid as error:
            if error.causes:
                raise
            raise Conflict(f"{key_of(self._live)} has changed since it was read") from error
        self._live = replace(written, status=made)

    def _tell(self, severity: Severity, reason: str, note: str) -> None:
        subject = about(SEARCH_OBJECTS, self._live)
        self._tools.recorder.record(Occurrence(subject, severity, reason, "Reconcile", note))

    def _now(self) -> float:
        return self._tools.clock.now().timestamp()


def _kept_by(outcome: Outcome) -> Outcome:
    """Return why a deleted resource stays, with the way out."""
    told = f"the object cannot be deleted in the database: {outcome.message}; to leave it there, set deletionPolicy to"
    return Outcome(outcome.stage, outcome.reason, f"{told} Retain")


def _failed(error: EngineError, secrets: tuple[str, ...]) -> Outcome:
    """Return the outcome of a request that failed; the database's reason never shows values of Secrets."""
    text = without_values(str(error), secrets)
    if isinstance(error, RefusedError) and error.status == CHANGED:
        return Outcome(Stage.WORKING, "Changing", f"another client changes it: {text}")
    if isinstance(error, RefusedError) and error.lasting:
        return Outcome(Stage.STALLED, "Refused", f"spec.body: the database refuses it: {text}", REFUSED_SECONDS)
    return Outcome(Stage.WORKING, "DatabaseUnreachable", text)
