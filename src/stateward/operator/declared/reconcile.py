"""One reconciliation of one declared object: check, read its values, decide, write, and report."""

from msgspec.structs import replace

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search_object import Claim, SearchObject, SearchObjectStatus
from stateward.engines.connection.base import EngineError, Target
from stateward.engines.search.declared.comparison import canonical
from stateward.engines.search.declared.decision import Decision, Do, Wish
from stateward.engines.search.declared.identity import Declared, declared, problems, settings_of
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.pointers import found as values_at
from stateward.engines.search.declared.preview import ObjectPreview, preview
from stateward.engines.search.declared.requests import read
from stateward.kube.events.event_record import Severity
from stateward.operator.declared.database import Written, clear, digest_of, follow_policy, settle
from stateward.operator.declared.reporting import APPLIED, Outcome, Stage
from stateward.operator.declared.resource import (
    REFUSED_SECONDS,
    RESYNC_SECONDS,
    Reconciliation,
    StopError,
    Tools,
    failed,
)
from stateward.operator.declared.values import NoValueError, with_values
from stateward.operator.declared.views import BY_CLUSTER, claimed, cluster_id, seniority
from stateward.planning.model.times import rfc3339

CLAIMS = 3
"""Decisions in one reconciliation: a claim, the write, and one more if the object appeared in between."""


class ObjectReconciliation(Reconciliation[SearchObject]):
    """One reconciliation of one declared object."""

    def __init__(self, tools: Tools[SearchObject], live: SearchObject) -> None:
        super().__init__(tools, live)
        self.live: SearchObject = live

    def check(self) -> None:
        """Raise StopError with all problems of the spec."""
        wrong = list(problems(self.live.spec))
        if wrong:
            text = "; ".join(each.public for each in wrong)
            raise StopError(Outcome(Stage.STALLED, "InvalidSpec", text, RESYNC_SECONDS))

    def leaves_something(self) -> bool:
        """Return whether the object in the database is to be deleted with the resource."""
        spec, claim = self.live.spec, self.live.status.claim
        return bool(claim) and claim != Claim.MERGED and spec.deletion_policy is Retention.DELETE

    async def settle(self, target: Target) -> Outcome:
        """Write the object, if it is not as declared; raises StopError, ApiError, LostLease."""
        what = declared(self.live.spec)
        if self.live.status.claim and self.live.status.cluster_uuid != target.identity:
            self.keep(SearchObjectStatus(conditions=self.live.status.conditions))
        if self.live.spec.paused:
            return Outcome(Stage.READY, "Paused", "spec.paused: nothing is written to the database", RESYNC_SECONDS)
        self._alone()
        self._after_others(what)
        await self.hold()
        try:
            body, secrets = await with_values(self.tools.api, self.live)
        except NoValueError as error:
            return Outcome(Stage.STALLED, error.reason, error.message)
        try:
            for _ in range(CLAIMS):
                wish = self._wish(what, body)
                written = await self.tools.databases.ask(
                    self.kind, target, lambda session, wish=wish: settle(session, self.tools.key, wish)
                )
                if written.decision.do is not Do.CLAIM:
                    return await self._done(wish, written, target)
                await self._claim(what, written.decision, target)
        except EngineError as error:
            return failed(error, secrets)
        return Outcome(Stage.WORKING, "Changing", "another client creates and deletes the object")

    async def clear(self, target: Target) -> Outcome | None:
        """Delete the object in the database; raises StopError, EngineError, LostLease."""
        self.check()
        if self.live.status.cluster_uuid != target.identity:
            return None  # The database that had the object is gone.
        wish = self._wish(declared(self.live.spec), self.live.spec.body)
        decision = await self.tools.databases.ask(self.kind, target, lambda session: clear(session, wish))
        return None if decision.do is Do.NOTHING else Outcome(Stage.WORKING, decision.reason, decision.message)

    async def preview(self) -> ObjectPreview:
        """Return what a reconciliation would do; it reads the database and writes nothing. Raises LostLease."""
        name = self.live.spec.object or self.live.spec.path or ""
        try:
            self.check()
            what = declared(self.live.spec)
            target = self.reachable(self.tools.databases.cluster(self.kind, self.where))
            if self.live.status.cluster_uuid != target.identity:
                self.keep(SearchObjectStatus())
            self._alone()
            self._after_others(what)
            wish = self._wish(what, self.live.spec.body)
            actual = await self.tools.databases.ask(self.kind, target, lambda session: read(session, what))
        except StopError as stop:
            does = "refuse" if stop.outcome.stage is Stage.STALLED else "wait"
            return ObjectPreview(name, does, stop.outcome.reason, stop.outcome.message)
        except EngineError as error:
            return ObjectPreview(name, "wait", "DatabaseUnreachable", str(error))
        return preview(wish, actual, digest_of(self.tools.key, wish, actual))

    def _others(self) -> list[SearchObject]:
        others = self.tools.objects.indexed(BY_CLUSTER, cluster_id(self.live))
        return [each for each in others if each.metadata.uid != self.live.metadata.uid]

    def _alone(self) -> None:
        """Raise StopError if another resource is in charge of the same object."""
        mine = claimed(self.live)
        for other in self._others():
            both = sorted(mine & claimed(other))
            if both and seniority(other) < seniority(self.live) and other.metadata.deletion_timestamp is None:
                message = f"{both[0]} is declared by the SearchObject {other.metadata.name} already; delete one of them"
                raise StopError(Outcome(Stage.STALLED, "Conflict", message))

    def _doubled(self) -> str:
        """Return which younger resource declares the same object, in a sentence; empty if none does."""
        mine = claimed(self.live)
        for other in sorted(self._others(), key=lambda each: each.metadata.name):
            if both := sorted(mine & claimed(other)):
                return f"{both[0]} is also declared by the SearchObject {other.metadata.name}; delete one of them"
        return ""

    def _after_others(self, what: Declared) -> None:
        """Raise StopError while an object that this one refers to is declared and not in the database yet."""
        if self.live.status.claim in (Claim.OWNED, Claim.MERGED):
            return
        needed = {
            f"{kind}/{name}"
            for kind, pointers in what.kind.refers.items()
            for pointer in pointers
            for name in values_at(self.live.spec.body, pointer)
        }
        for other in self._others():
            if other.spec.object in needed and other.status.claim not in (Claim.OWNED, Claim.MERGED):
                message = f"waits for {other.spec.object} of the SearchObject {other.metadata.name}"
                raise StopError(Outcome(Stage.WORKING, "DependencyPending", message))

    def _wish(self, what: Declared, body: dict[str, object]) -> Wish:
        owner = f"{self.live.metadata.namespace}/{self.live.metadata.name}"
        digest = self.tools.key.digest(canonical(body))
        return Wish(what, self.live.spec, self.live.status, body, digest, owner)

    async def _done(self, wish: Wish, written: Written, target: Target) -> Outcome:
        """Return the outcome of a decision, with the new status in `self.live`."""
        decision = written.decision
        if decision.do is Do.STOP:
            self.keep(replace(self.live.status, drift=decision.drift))
            return Outcome(Stage.STALLED, decision.reason, decision.message, RESYNC_SECONDS / 5)
        if decision.do is Do.WAIT:
            return Outcome(Stage.WORKING, decision.reason, decision.message)
        sent = decision.do is Do.SEND
        settings = sorted(settings_of(wish.sent)) if wish.what.kind.write is Write.SETTINGS else None
        self.keep(
            replace(
                self.live.status,
                object=wish.what.label,
                claim=decision.claim,
                cluster_uuid=target.identity,
                applied=wish.digest,
                stored=written.stored if sent else self.live.status.stored,
                settings=settings,
                drift="",
                applied_time=rfc3339(self.now()) if sent else self.live.status.applied_time,
            )
        )
        if sent:
            self._tell_write(decision)
        return await self._followed(wish, target)

    def _tell_write(self, decision: Decision) -> None:
        if decision.drift:
            self.tell(Severity.WARNING, "DriftCorrected", f"{decision.drift}; it is written again")
        else:
            self.tell(Severity.NORMAL, "Applied", "it is in the database as declared")

    async def _followed(self, wish: Wish, target: Target) -> Outcome:
        """Return the outcome of an applied object: ready, once indices follow it where that is asked for."""
        if wish.spec.apply_to_existing:
            left = await self.tools.databases.ask(self.kind, target, lambda session: follow_policy(session, wish))
            if left:
                message = f"{left} indices still run an earlier version of the policy"
                return Outcome(Stage.WORKING, "IndicesFollow", message, REFUSED_SECONDS)
        return Outcome(Stage.READY, APPLIED, self._doubled())

    async def _claim(self, what: Declared, decision: Decision, target: Target) -> None:
        """Write a claim before the first write to the database; raises Conflict, ApiError."""
        status = replace(self.live.status, claim=decision.claim, cluster_uuid=target.identity)
        if what.kind.write is Write.SETTINGS:
            settings = settings_of(self.live.spec.body).keys() | set(status.settings or ())
            status = replace(status, settings=sorted(settings))
        await self.write(status, Outcome(Stage.WORKING, decision.claim, "it is written to the database"))
