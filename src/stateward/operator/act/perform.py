"""Performs a plan: its actions in their order, and the remaining ones after the database or an agent has refused one.

Any other failure ends the round: it is then unknown whether the state still matches the plan. A refusal shows that it
does. So it ends only what depends on the refused step, and is reported until the step succeeds. A pod that is not
allowed counts as a refusal: nothing was sent. What the API server refuses ends the round too, except among the last
steps of a plan, of which any may be refused for a long time.

The disaster this prevents: a database that refuses to move a member's data (because its disks are too full) blocks the
repair of another member, and the creation of the new one that would have taken the data.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from stateward.engines.connection.base import EngineError, RefusedError, Target
from stateward.kube.objects.errors import ApiError, BadRequest, Forbidden, Invalid
from stateward.kube.objects.metadata import Key, key_of
from stateward.operator.act.act import Actor, NotOwnedError
from stateward.operator.act.agent_requests import AgentRequests
from stateward.operator.act.announce import Announcer
from stateward.operator.act.preparation import Preparation
from stateward.operator.act.shared_objects import SharedObjects
from stateward.operator.databases.agents import AgentError, AgentRefusedError
from stateward.operator.databases.engine import Family
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.pod_rights.policy import NOT_ALLOWED, PodNotAllowed
from stateward.operator.runtime.metrics import Metrics
from stateward.operator.runtime.traces import span
from stateward.planning.after_refusal import LATE, depends, is_held
from stateward.planning.model.actions import Action, Flush
from stateward.planning.model.intent import Wait
from stateward.planning.model.observation import Observation
from stateward.planning.plan import Plan

_log = structlog.get_logger(__name__)

WORDS = 400
"""Characters of a refusal that are reported."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan: what was refused, and what went wrong, after which the rest is left for the next round."""

    refused: tuple[str, ...] = ()
    """What the database and agents refuse, and below what the pod policy does not allow."""
    barred: tuple[str, ...] = ()
    failure: Exception | None = None
    tightened: bool = False
    """Whether the steps were left for the next round because a disruption budget was tightened."""
    late: bool = False
    """Whether steps were left for a plan that is made again, because those before them took long."""

    def waits(self, cluster: str) -> tuple[Wait, ...]:
        """Return the waits for the refused steps."""
        found = list[Wait]()
        if self.refused:
            found.append(Wait(cluster, "StepRefused", "; ".join(self.refused)))
        if self.barred:
            found.append(Wait(cluster, NOT_ALLOWED, "; ".join(self.barred), stalled=True))
        if self.failure is not None:
            said = f"{type(self.failure).__name__}: {self.failure}"
            found.append(Wait(cluster, "StepFailed", said, stalled=is_refused(self.failure)))
        if self.tightened:
            text = "a disruption budget allows more evictions than the operator has just written into it"
            found.append(Wait(cluster, "BudgetNotKept", text))
        return tuple(found)


def is_refused(failure: Exception) -> bool:
    """Return whether the API server refuses an object by its schema, its values, a quota, a policy or missing rights.

    The step is tried again, and succeeds once a person has changed that. A patch that lost a race is invalid too: its
    answer names no field.
    """
    if isinstance(failure, Invalid):
        return any(cause.field for cause in failure.causes)
    return isinstance(failure, BadRequest | Forbidden)


@dataclass(frozen=True, slots=True)
class RefusedAction:
    """An action that was refused, by the database, by an agent or by the pod policy."""

    action: Action
    error: RefusedError | AgentRefusedError | PodNotAllowed


@dataclass(frozen=True, slots=True)
class Performer:
    """Carries out the plans of clusters of one family."""

    family: Family
    actor: Actor
    shared_objects: SharedObjects
    agent_requests: AgentRequests
    announcer: Announcer
    metrics: Metrics
    preparation: Preparation

    async def perform(
        self,
        existing: ClusterObjects,
        observed: Observation,
        plan: Plan,
        *,
        began: float,
        failure: Exception | None = None,
    ) -> Outcome:
        """Perform a plan that was made from reads that `began` then; `failure`: why its budgets could not be closed.

        Its steps are left for the next round if they stop a member and these reads do not show the budgets closed. Only
        unexpected errors are raised.
        """
        target, refused = self.family.target(existing), list[RefusedAction]()
        closed = known = failure is None
        late = False
        self.preparation.begin(key_of(existing.cluster))
        try:
            late = await self._all(plan.endings, existing, target, refused)
            if observed.desired.pools and known:
                shut = await self.shared_objects.close(existing, plan.budgets, settled=plan.settled, began=began)
                closed = shut or not plan.disrupts
                await self.agent_requests.credentials.keep(existing)
            if closed and not late:
                late = await self._all(plan.steps, existing, target, refused)
        except (ApiError, EngineError, AgentError, NotOwnedError) as error:
            failure = error  # The queue logs it when the round has ended.
        barred = tuple(refusal_text(held) for held in refused if isinstance(held.error, PodNotAllowed))
        refusals = tuple(refusal_text(h) for h in refused if not isinstance(h.error, PodNotAllowed))
        return Outcome(refusals, barred, failure, tightened=known and not closed, late=late)

    async def _all(
        self, actions: Iterable[Action], existing: ClusterObjects, target: Target, refused: list[RefusedAction]
    ) -> bool:
        """Carry out actions; return whether the rest is left for a plan that is made again, because they took long."""
        key = key_of(existing.cluster)
        late, failure = list[Action](), None
        for action in actions:
            if any(depends(action, earlier.action) for earlier in refused) or any(is_held(action, m) for m in late):
                continue
            if self.preparation.is_outdated(key, action):
                _log.info("looking again: the preparation took long", action=type(action).__name__)
                return True
            if self.preparation.done_before(key, action):
                continue
            member = getattr(action, "member", "")
            try:
                with span("action", kind=type(action).__name__, member=member, why=action.why):
                    await self._one(key, action, existing, target)
            except (RefusedError, AgentRefusedError, PodNotAllowed) as error:
                if isinstance(error, RefusedError) and not error.lasting:
                    raise
                refused.append(RefusedAction(action, error))
                _log.warning("a step is refused; steps that do not depend on it continue", why=str(error))
                continue
            except ApiError as error:
                if not (isinstance(action, LATE) and is_refused(error)):
                    raise
                late.append(action)
                failure = failure or error
                continue
            self._done(action, existing)
        if failure is not None:
            raise failure
        return False

    async def _one(self, key: Key, action: Action, existing: ClusterObjects, target: Target) -> None:
        """Carry out one action; data is flushed as far as possible.

        The disaster this prevents: one slow copy blocks the flush, and the restart for which the allocation was limited
        never comes.
        """
        try:
            await self.actor.carry_out(action, existing, target)
        except EngineError as error:
            if not isinstance(action, Flush):
                raise
            _log.warning("recovery will take longer: not all data was flushed to disk", error=str(error))
            self.preparation.flush_failed(key)

    def _done(self, action: Action, existing: ClusterObjects) -> None:
        meta = existing.cluster.metadata
        self.announcer.action_done(existing.cluster, action)
        labels = (self.family.kind.engine, meta.namespace, meta.name, type(action).__name__)
        self.metrics.actions.labels(*labels).inc()


def refusal_text(held: RefusedAction) -> str:
    """Return a refusal as a person reads it, on one line."""
    words = " ".join(str(held.error).split())[:WORDS]
    subject = "the database refuses a step" if isinstance(held.error, RefusedError) else "a step is not taken"
    if isinstance(held.error, AgentRefusedError):
        subject = f"the agent of {getattr(held.action, 'member', '')} refuses a step"
    return f"{subject} ({held.action.why}): {words}"
