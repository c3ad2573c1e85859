"""One reconciliation of one declared object: check, read its values, write, and report."""

import dataclasses
from collections.abc import Iterable

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster, Retention
from stateward.api.kinds.search_object import Claim, SearchObject, SearchObjectSpec, SearchObjectStatus
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem, short
from stateward.api.values.quantity import amount
from stateward.engines.connection.base import EngineError, Target
from stateward.engines.search.declared.comparison import canonical, normal
from stateward.engines.search.declared.decision import Decision, Do
from stateward.engines.search.declared.desired import Desired, Memory
from stateward.engines.search.declared.identity import (
    Declared,
    UnclearError,
    declared,
    identities,
    problems,
    settings_of,
    whole_body,
)
from stateward.engines.search.declared.kinds import SETTINGS, Write
from stateward.engines.search.declared.pointers import NoPlaceError
from stateward.engines.search.declared.pointers import found as values_at
from stateward.engines.search.declared.preview import ObjectPreview, preview
from stateward.engines.search.declared.refusals import field_in, lacks_kind
from stateward.engines.search.declared.requests import read, use
from stateward.operator.declared.database import Written, digest_of, follow_policy, release, sure_digest
from stateward.operator.declared.record_key import renewed
from stateward.operator.declared.reporting import APPLIED, CONFLICT, HELD, Outcome, Stage, left_over
from stateward.operator.declared.resource import REFUSED_SECONDS, Reconciliation, StopError
from stateward.operator.declared.tools import Tools
from stateward.operator.declared.values import NoValueError, with_values
from stateward.planning.model.times import rfc3339

_WRITTEN = (Claim.OWNED, Claim.MERGED)
"""Claims of objects that have been written."""


class ObjectReconciliation(Reconciliation[SearchObject]):
    """One reconciliation of one declared object."""

    refused_at = "spec.body"

    def __init__(self, tools: Tools[SearchObject], live: SearchObject) -> None:
        super().__init__(tools, live)
        self.live: SearchObject = live

    def problems(self) -> Iterable[Problem]:
        """Return what is wrong with the spec."""
        return problems(self.live.spec)

    def repository(self) -> str:
        """Return the name of the repository that is declared; empty if it is another object."""
        try:
            what = declared(self.live.spec)
        except UnclearError:
            return ""
        return what.name if what.kind.trial else ""

    def refusal(self, text: str) -> str:
        """Return the same: about the field of the body that the database names, or about the kind of the object."""
        spec = self.live.spec
        if lacks_kind(text):
            field = "object" if spec.object is not None else "path"
            return f"spec.{field}: the database has no such objects, perhaps because a plug-in or module is missing"
        try:
            named = field_in(text, whole_body(spec))
        except NoPlaceError:
            named = ""
        return f"{self.refused_at}{named}: the database refuses it"

    def claims(self, resource: SearchObject) -> frozenset[str]:
        """Return what an object declares in the database; nothing if that is unclear."""
        try:
            return identities(resource.spec)
        except (UnclearError, NoPlaceError):
            return frozenset()

    def owns(self, resource: SearchObject) -> bool:
        """Return whether an object has claimed anything in the database."""
        return bool(resource.status.claim)

    def has(self, resource: SearchObject, claim: str) -> bool:
        """Return whether an object has one of its claims in the database: of cluster settings, this very one."""
        kind, _, setting = claim.partition("/")
        return setting in (resource.status.settings or ()) if kind == SETTINGS else self.owns(resource)

    def leaves_something(self) -> bool:
        """Return whether the object in the database is to be deleted with the resource."""
        spec, claim = self.live.spec, self.live.status.claim
        return bool(claim) and claim != Claim.MERGED and spec.deletion_policy is Retention.DELETE

    async def settle(self, target: Target) -> Outcome:
        """Write the object, if it is not as declared; raises StopError, EngineError, ApiError, LostLease."""
        what = declared(self.live.spec)
        self._forget_others(target)
        if self.live.spec.paused:
            raise StopError(Outcome(Stage.STALLED, "Paused", "spec.paused: nothing is written to the database"))
        self._after_others(what)
        self._after_holders(what, target)
        await self.hold()
        try:
            body, secrets = await with_values(self.tools.api, self.live)
        except NoValueError as error:
            return Outcome(Stage.STALLED, error.reason, error.message)
        try:
            written = await self.applied(
                target,
                lambda: self._desired(what, body),
                lambda decision: self._claim(what, body, decision, target),
                secrets,
            )
        except StopError as stop:
            self.keep(replace(self.live.status, drift=short(stop.drift)))
            raise
        desired = self._desired(what, body)
        self._record(desired, written, target)
        if what.kind.trial and not (written.decision.do is Do.NOTHING and self.was_ready()):
            await self._tried(what, target, secrets)
        return await self._followed(desired, target, written.decision.message)

    async def stopped(self, outcome: Outcome, cluster: Cluster | None) -> Outcome:
        """Give up settings that are declared no more: two resources that exchange theirs would wait forever."""
        if outcome.reason not in (CONFLICT, HELD) or self.live.spec.paused:
            return outcome
        try:
            return await self._given_up(self.reachable(cluster), outcome)
        except StopError:
            return outcome
        except EngineError as error:
            return _and(outcome, self.failed(error).message)

    async def _given_up(self, target: Target, outcome: Outcome) -> Outcome:
        """Reset what is surely set and declared no more; raises as `settle` does.

        Returns the outcome with the reason why a setting stays set. If that does not end by itself, a person is needed:
        another resource may wait for this one, too.
        """
        self._forget_others(target)
        what, body = declared(self.live.spec), whole_body(self.live.spec)
        desired = self._desired(what, body)
        settings = desired.given_up(frozenset(self._held(target)))
        decision = await self._released(what, body, target, settings, outcome) if settings else Decision(Do.NOTHING)
        if decision.do is Do.WAIT:
            return _and(outcome, decision.message)
        if not (kept := sorted(self._desired(what, body).memory.settings - desired.settings)):
            return outcome
        unsure = f"{', '.join(kept)} stays set: it is not known whether this resource set it"
        return _and(dataclasses.replace(outcome, stage=Stage.STALLED), decision.message or unsure)

    async def _released(
        self, what: Declared, body: Json, target: Target, settings: frozenset[str], outcome: Outcome
    ) -> Decision:
        """Reset settings, and drop them from the status; returns what was decided. Raises as `settle` does."""

        async def released() -> Written:
            desired = self._desired(what, body)
            return await self.tools.databases.ask(
                self.kind, target, lambda session: release(session, self.key, desired, settings)
            )

        written = await released()
        if written.decision.do is Do.CLAIM:
            self.keep(replace(self.live.status, applied=""))
            await self.write(self.live.status, outcome)
            written = await released()
        if written.decision.do in (Do.SEND, Do.NOTHING):
            left = sorted(self._desired(what, body).memory.settings - settings)
            self.keep(replace(self.live.status, settings=left or None, stored=written.stored))
        return written.decision

    async def clear(self, target: Target) -> Outcome | None:
        """Delete the object in the database; raises StopError, ApiError, EngineError, LostLease."""
        if self.live.status.cluster_uuid != target.identity:
            return None  # The database that had the object is gone.
        try:
            what = declared(self.live.spec)
        except UnclearError as error:
            return Outcome(Stage.STALLED, "InvalidSpec", error.problem.public)
        decision = await self.cleared(target, self._desired(what, self.live.spec.body))
        if decision.do is Do.CLAIM:
            self._record_stored(decision)
            await self.store(self.live.status)
            decision = await self.cleared(target, self._desired(what, self.live.spec.body))
        return left_over(decision)

    async def preview(self, before: SearchObjectSpec | None) -> ObjectPreview:
        """Return what a reconciliation would do; it reads and writes nothing. Raises ApiError.

        Values of Secrets are read, because only with them it is known whether anything changes; they are not shown.
        `before` is the spec that is declared until now: what it takes from Secrets may be stored, and is not shown.
        """

        async def look(target: Target) -> ObjectPreview:
            what = declared(self.live.spec)
            self._forget_others(target)
            self._after_others(what)
            self._after_holders(what, target)
            try:
                body, secrets = await with_values(self.tools.api, self.live)
            except NoValueError as error:
                raise StopError(Outcome(Stage.STALLED, error.reason, error.message)) from error
            desired = self._desired(what, body)
            desired = dataclasses.replace(desired, hidden=(*desired.hidden, *_hidden(before)))
            try:
                observed = await self.tools.databases.ask(self.kind, target, lambda session: read(session, what))
            except EngineError as error:
                raise StopError(self.failed(error, secrets)) from error
            known = await self._is_written(before)
            key = self.key
            now, sure = digest_of(key, desired, observed), sure_digest(key, desired, observed)
            return preview(desired, observed, now, sure, known=known)

        return await self.previewed(self.live.spec.object or self.live.spec.path or "", look)

    async def _is_written(self, before: SearchObjectSpec | None) -> bool:
        """Return whether the database has what is declared until now, and not an earlier body. Raises ApiError."""
        if not self.live.status.claim:
            return True
        try:
            body, _ = await with_values(self.tools.api, replace(self.live, spec=before))
        except NoValueError:
            return False
        return self.key.digest(canonical(body), self.live.status.applied) == self.live.status.applied

    def _forget_others(self, target: Target) -> None:
        """Drop what the status has of another database."""
        if self.live.status.claim and self.live.status.cluster_uuid != target.identity:
            self.keep(SearchObjectStatus(conditions=self.live.status.conditions))

    def _after_others(self, what: Declared) -> None:
        """Raise StopError while an object that this one refers to is declared and not in the database yet."""
        if self.live.status.claim in _WRITTEN:
            return
        body, needed = normal(what, self.live.spec.body), {f"{what.kind.same_name}/{what.name}"}
        needed |= {
            f"{kind}/{name}"
            for kind, pointers in what.kind.refers.items()
            for pointer in pointers
            for name in values_at(body, pointer)
        }
        others = self.others()
        # Of two resources that declare the same, the one that is in charge has written it, and the other never will.
        needed -= {other.spec.object for other in others if other.status.claim in _WRITTEN}
        for other in others:
            if other.spec.object in needed:
                message = f"waits for {other.spec.object} of the SearchObject {other.metadata.name}"
                raise StopError(Outcome(Stage.WORKING, "DependencyPending", message))

    def _after_holders(self, what: Declared, target: Target) -> None:
        """Raise StopError while a cluster setting is set for another resource, which may declare it no more.

        The disaster this prevents: the other one gives it its default back later, and undoes what this one has set.
        """
        if what.kind.write is not Write.SETTINGS:
            return
        mine = settings_of(whole_body(self.live.spec)).keys() - set(self.live.status.settings or ())
        for setting, holder in sorted(self._held(target).items()):
            if setting in mine:
                message = f"waits until the SearchObject {holder} has reset {what.label}/{setting}"
                raise StopError(Outcome(Stage.WORKING, HELD, message))

    def _held(self, target: Target) -> dict[str, str]:
        """Return the cluster settings that are set in a database for other resources, with the name of one of those."""
        return {
            setting: other.metadata.name
            for other in self.others()
            if other.status.cluster_uuid == target.identity
            for setting in other.status.settings or ()
        }

    def _desired(self, what: Declared, body: Json) -> Desired:
        spec, status, meta = self.live.spec, self.live.status, self.live.metadata
        return Desired(
            what=what,
            body=spec.body,
            sent=body,
            digest=self.key.digest(canonical(body), status.applied),
            owner=f"{meta.namespace}/{meta.name}",
            memory=Memory(
                status.claim,
                status.applied,
                status.stored,
                frozenset(status.settings or ()),
                frozenset(status.unwritten or ()),
            ),
            hidden=_hidden(spec),
            existing=spec.existing,
            drift=spec.drift,
            retain=spec.deletion_policy is Retention.RETAIN,
        )

    def _claim(self, what: Declared, body: Json, decision: Decision, target: Target) -> None:
        """Note a claim: the database's identity, and for cluster settings their names."""
        wanted, known = self._desired(what, body).settings, self.live.status
        settings = wanted | set(known.settings or ())
        unwritten = wanted - set(known.settings or ()) | set(known.unwritten or ())
        status = replace(known, claim=decision.claim, cluster_uuid=target.identity)
        self.keep(replace(status, settings=sorted(settings) or None, unwritten=sorted(unwritten) or None))
        if decision.stored:
            self._record_stored(decision)

    def _record_stored(self, decision: Decision) -> None:
        """Note what is stored before settings are reset or an object is replaced: nothing is applied any more."""
        self.keep(replace(self.live.status, applied="", stored=decision.stored))

    def _record(self, desired: Desired, written: Written, target: Target) -> None:
        """Note that the database has the object as declared."""
        status, sent = self.live.status, written.decision.do is Do.SEND
        self.keep(
            replace(
                status,
                object=desired.what.label,
                claim=written.decision.claim,
                cluster_uuid=target.identity,
                applied=self.key.digest(canonical(desired.sent)),
                stored=written.stored if sent else renewed(status.stored, written.stored),
                settings=sorted(desired.settings) or None,
                unwritten=None,
                drift="",
                applied_time=rfc3339(self.now()) if sent else status.applied_time,
            )
        )

    async def _tried(self, what: Declared, target: Target, secrets: tuple[str, ...]) -> None:
        """Have the nodes use what they have stored; raises StopError if they cannot, EngineError, LostLease."""
        try:
            await self.tools.databases.ask(self.kind, target, lambda session: use(session, what))
        except EngineError as error:
            raise StopError(self.failed(error, secrets)) from error

    async def _followed(self, desired: Desired, target: Target, message: str) -> Outcome:
        """Return the outcome of an applied object: ready, once indices follow it where that is asked for."""
        if self.live.spec.apply_to_existing:
            left = await self.tools.databases.ask(self.kind, target, lambda session: follow_policy(session, desired))
            if left:
                message = f"still with an earlier version of the policy: {amount(left, 'index', 'indices')}"
                return Outcome(Stage.WORKING, "IndicesFollow", message, REFUSED_SECONDS)
        return Outcome(Stage.READY, APPLIED, self.doubled() or message)


def _and(outcome: Outcome, told: str) -> Outcome:
    """Return an outcome that tells one thing more."""
    return dataclasses.replace(outcome, message=f"{outcome.message}; {told}")


def _hidden(spec: SearchObjectSpec | None) -> tuple[str, ...]:
    """Return the places of the body whose values come from Secrets."""
    return tuple(value.path for value in spec.values or ()) if spec is not None else ()
