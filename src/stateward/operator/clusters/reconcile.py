"""One round of one cluster: observe, plan, act, and write the status.

A plan that destroys something is not performed: it is the reason to read everything live and to plan again, and that
second plan is performed. So a stale cache can cost a round, and never a pod. One reconciliation is short; the next
event or timer continues.
"""

from dataclasses import dataclass, replace
from functools import partial

import msgspec
import structlog

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.status import ClusterStatus
from stateward.api.pod_policy import Level
from stateward.api.values.names import ANNOTATION_CLAIM
from stateward.engines.connection.base import EngineError, Target
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.election.fence import Fence
from stateward.kube.objects.errors import ApiError, Conflict, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.kube.timing.turns import Turns
from stateward.operator.act.act import Actor, NotOwnedError
from stateward.operator.act.agent_requests import AgentRequests
from stateward.operator.act.announce import Announcer
from stateward.operator.act.perform import Performer
from stateward.operator.act.preparation import Preparation
from stateward.operator.act.shared_objects import SharedObjects
from stateward.operator.clusters.exit_watch import ExitWatch, ending
from stateward.operator.clusters.forecasts import Forecasts
from stateward.operator.clusters.history import Histories
from stateward.operator.clusters.memory import Memory
from stateward.operator.clusters.pace import (
    BUSY_SECONDS,
    StatusPace,
    changes_soon,
    next_reconciliation,
    repeats_previous_round,
)
from stateward.operator.clusters.replacement_limit import ReplacementLimit, newly_listed
from stateward.operator.clusters.round import Round
from stateward.operator.clusters.status_writer import StatusWriter, Written
from stateward.operator.databases.engine import Family
from stateward.operator.declared.snapshots.before_upgrade import read_saved
from stateward.operator.declared.snapshots.first_restore import read_first_restore
from stateward.operator.detection.look import suspected
from stateward.operator.network.refusal import refusals as network_refusals
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.last_read import LastReads, is_restart
from stateward.operator.objects.live import read_live, with_pods_of_now
from stateward.operator.objects.translate import observation, with_answers
from stateward.operator.objects.waves import HANDOVER, Turn, turn
from stateward.operator.observe.desired_state import DesiredStates
from stateward.operator.observe.referenced_data import ReferencedData
from stateward.operator.pod_rights.labels import PodRights
from stateward.operator.runtime.metrics import Metrics
from stateward.operator.runtime.traces import span
from stateward.operator.security.cluster_file import ClusterFiles, with_cluster_file
from stateward.operator.security.foundationdb_tls import TransportKeeper, runs_with
from stateward.operator.security.protection import refusals
from stateward.operator.security.security import Keeper
from stateward.planning.facts.agents_to_ask import members_to_ask
from stateward.planning.model.observation import Database, Desired, Refusal, Unknown
from stateward.planning.model.past_times import PastTimes, with_past_times
from stateward.planning.plan import Plan, plan
from stateward.planning.report import past_times as report

_log = structlog.get_logger(__name__)

EDITED_SECONDS = 0.5
"""Seconds until the next reconciliation if the cluster was edited while its status was being written, if preparations
took long, or if a budget was tightened: an eviction that was allowed before has deleted its pod by then.
"""
NOT_KEPT = 4
"""After so many rounds in a row that tighten budgets, the status says that they are not kept."""

ADMINISTRATOR = "spec.security.adminSecretName"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a reconciler works with."""

    caches: Caches
    family: Family
    agent_requests: AgentRequests
    actor: Actor
    shared_objects: SharedObjects
    files: ClusterFiles
    transport: TransportKeeper
    keeper: Keeper
    data: ReferencedData
    announcer: Announcer
    metrics: Metrics
    clock: Clock
    limit: ReplacementLimit
    exit_watch: ExitWatch
    histories: Histories
    forecasts: Forecasts
    fence: Fence
    rights: PodRights
    pod_policy: Level
    turns: Turns
    network_policies: bool = False


class Reconciler:
    """Reconciles clusters of one family, one key at a time; safe to call for several keys at once."""

    def __init__(self, api: Api, parts: Parts) -> None:
        self._api = api
        self._caches = parts.caches
        self._family = parts.family
        self._kind = parts.family.kind
        self._agent_requests = parts.agent_requests
        shared, asked, prepared = parts.shared_objects, parts.agent_requests, Preparation(parts.clock)
        self._performer = Performer(parts.family, parts.actor, shared, asked, parts.announcer, parts.metrics, prepared)
        self._files = parts.files
        self._transport = parts.transport
        self._keeper = parts.keeper
        self._data = parts.data
        self._shared_objects = parts.shared_objects
        self._clock = parts.clock
        self._limit = parts.limit
        self._exit_watch = parts.exit_watch
        self._fence = parts.fence
        self._wanted = DesiredStates(parts.family, parts.pod_policy, parts.turns)
        self._rights = parts.rights
        self._network_policies = parts.network_policies
        self._status = StatusWriter(
            api=api,
            kind=parts.family.kind,
            caches=parts.caches,
            shared_objects=parts.shared_objects,
            announcer=parts.announcer,
            metrics=parts.metrics,
            histories=parts.histories,
            forecasts=parts.forecasts,
            clock=parts.clock,
            pace=StatusPace(parts.clock),
        )
        self.tell_failure = self._status.tell_failure
        self._reads = LastReads(parts.clock)
        self._past = PastTimes()
        remembering = (
            parts.caches,
            parts.keeper,
            parts.files,
            parts.transport,
            parts.rights,
            parts.data,
            parts.shared_objects,
            parts.agent_requests.credentials,
            self._wanted,
            self._status,
            self._reads,
            prepared,
        )
        forget_metrics = partial(parts.metrics.forget, self._kind.engine)
        self._memory = Memory((forget_metrics, *(part.forget for part in remembering)))

    def target(self, key: Key) -> Target | None:
        """Return how the database of a cluster was reached in its last round; None if this process has had none."""
        return self._memory.targets.get(key)

    async def reconcile(self, key: Key) -> float | None:
        """Reconcile one cluster; returns the seconds until the next reconciliation, None if the cluster is gone."""
        self._status.begin(key)
        existing = self._caches.cluster_objects(key)
        if existing is None or existing.cluster.metadata.deletion_timestamp is not None:
            if existing is None:
                await self._keeper.gone(key)
            self._memory.forget(key)
            return None
        self._memory.begin(key, existing.cluster)
        whose = turn(existing.cluster, self._caches.wave)
        if whose is not Turn.MANAGE:
            return await self._hand_over(key, existing.cluster, whose)
        if (left := self._handover_left(key)) > 0:
            return max(left, 1.0)  # A rest that a float cannot add to the time would be over at once, again and again.
        with (
            structlog.contextvars.bound_contextvars(cluster=str(key)),
            span("reconcile", kind=self._kind.resource.kind, namespace=key.namespace, name=key.name),
        ):
            try:
                return await self._round(key, existing)
            finally:
                self._limit.release(existing.cluster.metadata.uid)

    async def _hand_over(self, key: Key, cluster: Cluster, whose: Turn) -> None:
        """Claim or release a cluster that this operator does not manage yet, or no longer; raises ApiError."""
        self._memory.forget(key)
        if whose is Turn.LEAVE:
            return
        claim = self._caches.wave if whose is Turn.CLAIM else None
        exact = {"uid": cluster.metadata.uid, "resourceVersion": cluster.metadata.resource_version}
        patch = {"metadata": {**exact, "annotations": {ANNOTATION_CLAIM: claim}}}
        await self._api.patch(self._kind.resource, key, patch, kind=PatchKind.MERGE)
        _log.info("claimed" if claim else "released", cluster=str(key))

    def _handover_left(self, key: Key) -> float:
        """Return the seconds until this operator may begin with a cluster that it has claimed."""
        if not self._caches.wave:
            return 0.0
        since = self._memory.claimed.setdefault(key, self._clock.monotonic())
        return HANDOVER - (self._clock.monotonic() - since)

    async def _round(self, key: Key, existing: ClusterObjects) -> float | None:
        try:
            began, existing, turn = await self._decided(key, existing)
        except NotFound:
            # The live read finds no cluster; the cache agrees once its watch has reported the deletion.
            return BUSY_SECONDS
        closed, failure = await self._close_budgets(key, turn, began)
        if not closed and failure is None and self._memory.tightened[key] < NOT_KEPT:
            return EDITED_SECONDS
        try:
            turn = await self._status.record_first(key, turn) if closed else turn
        except Conflict as error:
            self._status.raced(key, error)
            return EDITED_SECONDS
        outcome = await self._performer.perform(turn.existing, turn.observed, turn.plan, began=began, failure=failure)
        closed = closed and not outcome.tightened and not outcome.late
        if turn.plan.actions:
            self._reads.forget(key)
        if existing.live and outcome.failure is None and closed:
            self._reads.keep(key, began, existing, turn.plan.actions)
        if closed:
            self._exit_watch.keep(key, turn.existing, ending(turn.observed, turn.plan))
        if outcome.failure is None:
            turn, failure = await self._administrator_created(turn)
            outcome = replace(outcome, failure=failure)
        try:
            with span("write status"):
                written = await self._status.write(key, turn, outcome)
        except Conflict as error:
            self._status.raced(key, error)
            return EDITED_SECONDS
        if outcome.failure is not None:
            self._status.failed(key)
            raise outcome.failure
        return EDITED_SECONDS if outcome.late else self._seconds_left(key, turn, written)

    def _seconds_left(self, key: Key, turn: Round, written: Written) -> float:
        """Return the seconds until the next reconciliation after a whole round."""
        closely = changes_soon(turn.observed, turn.plan, written.idle)
        idle = written.idle if repeats_previous_round(turn.plan.actions, self._memory.done.get(key, ())) else 0.0
        self._memory.done[key] = turn.plan.actions
        silent, settled = isinstance(turn.observed.database, Unknown), written.settled
        left = next_reconciliation(key, settled=settled, now=self._now(), closely=closely, silent=silent, idle=idle)
        return min(left, written.held) if written.held > 0 else left

    async def _close_budgets(self, key: Key, turn: Round, began: float) -> tuple[bool, Exception | None]:
        """Tighten the budgets before a member stops; return whether the reads show them closed, and what failed.

        If they were open, or it is not known whether they are, the plan must be made again from new reads.

        The disaster this prevents: a node is drained while a rollout begins, the eviction of one member is allowed just
        after the reads of this plan, and its steps stop another one. What the plan records comes later: a departure
        that is recorded and did not begin would hold the next one back.
        """
        if not turn.plan.disrupts:
            return True, None
        plan = turn.plan
        try:
            closed = await self._shared_objects.close(turn.existing, plan.budgets, settled=plan.settled, began=began)
        except (ApiError, NotOwnedError) as error:
            return False, error
        if closed:
            self._memory.tightened.pop(key, None)
        else:
            self._reads.forget(key)
            self._memory.tightened[key] += 1
        return closed, None

    async def _decided(self, key: Key, existing: ClusterObjects) -> tuple[float, ClusterObjects, Round]:
        """Return when the reads began, what was read, and the plan to perform; raises NotFound, ApiError."""
        began = self._reads.begin()
        if suspected(existing.cluster, self._now()):
            existing = await self._live(key)  # A watch may have lost an event: nothing that it shows counts.
        turn = await self._decide(existing)
        if turn.plan.needs_live and not existing.live:
            began, existing, turn = await self._decide_live(key, existing, turn.plan)
        if turn.plan.needs_live and self._reads.is_old(began):
            turn = await self._decide_again(turn)
        return began, existing, turn

    async def _decide_live(self, key: Key, cached: ClusterObjects, made: Plan) -> tuple[float, ClusterObjects, Round]:
        """Plan again from live reads; return when they began, and what `_decided` does; raises NotFound, ApiError."""
        last = self._reads.take(key, self._caches.cluster_objects(key) or cached)
        if last is not None and is_restart(made):
            began, existing = last
            turn = await self._decide(existing)
            if is_restart(turn.plan):
                return began, existing, turn
        began = self._reads.begin()
        existing = await self._live(key, cached)
        return began, existing, await self._decide(existing)

    async def _decide_again(self, late: Round) -> Round:
        """Plan again with the pods of now; raises ApiError.

        The disaster this prevents: the database answers after half a minute, a member has crashed meanwhile, and
        another one is stopped because all pods were ready before the question.
        """
        existing = await with_pods_of_now(self._api, late.existing, self._kind)
        again = await self._plan(existing, late.observed.desired, late.observed.database, late.before)
        return replace(again, ahead=late.ahead)

    async def _live(self, key: Key, cached: ClusterObjects | None = None) -> ClusterObjects:
        """Return the live cluster; raises NotFound also if it is being deleted, which caches may not show yet.

        The disaster this prevents: objects that the garbage collector has just removed are created again, without an
        owner.
        """
        with span("read live"):
            existing = await read_live(self._api, key, self._kind, cached=cached)
        if existing.cluster.metadata.deletion_timestamp is not None:
            raise NotFound(f"{key} is being deleted")
        if turn(existing.cluster, self._caches.wave) is not Turn.MANAGE:
            raise NotFound(f"{key} is managed by another operator")
        self._memory.begin(key, existing.cluster)
        return existing

    async def _decide(self, existing: ClusterObjects) -> Round:
        stored = existing.cluster.status
        before = report.with_past_times(stored, self._past.at(self._now()))
        existing = replace(existing, cluster=msgspec.structs.replace(existing.cluster, status=before))
        existing = replace(existing, barred=await self._rights.refusals(existing))
        existing = await self._files.known(existing)
        existing, refused = await self._secured(existing)
        existing, unknown = await self._data.known(existing)
        existing = replace(existing, restore=await read_first_restore(self._api, existing.cluster))
        closed = network_refusals(existing.cluster, everywhere=self._network_policies)
        refused = (*existing.barred, *refused, *unknown, *closed)
        desired = await self._wanted.desired(existing.cluster)
        # Some databases prove their answer by a change that they revert at once.
        target = self._family.target(existing)
        self._memory.targets[Key(existing.cluster.metadata.namespace, existing.cluster.metadata.name)] = target
        async with self._fence():
            with span("observe database"):
                database = await self._family.engine.observe(target)
            saved = await read_saved(self._api, self._family.engine, existing, target, self._now())
        existing = replace(existing, saved=saved)
        existing, lost = with_cluster_file(existing, database)
        refused = (*refused, *lost)
        if refused:
            desired = msgspec.structs.replace(desired, refusals=(*desired.refusals, *refused))
        return replace(await self._plan(existing, desired, database, before), ahead=before is not stored)

    async def _plan(
        self, existing: ClusterObjects, desired: Desired, database: Database | Unknown, before: ClusterStatus
    ) -> Round:
        """Ask the agents, and plan."""
        observed = observation(existing, desired, database, self._family.container)
        answers = await self._agent_requests.ask(existing, members_to_ask(observed))
        # From here on there is no await until the slot is taken, so no other cluster can take it in between.
        observed = msgspec.structs.replace(with_answers(observed, answers), slots=self._limit.slots(observed.uid))
        observed = with_past_times(observed, self._past.at(self._now()))
        with span("plan") as traced:
            made = plan(observed, self._now())
            traced.set_attributes({"stateward.actions": len(made.actions), "stateward.settled": made.settled})
        self._limit.claim(observed.uid, newly_listed(observed.removals, made.removals))
        return Round(existing, observed, made, before)

    async def _secured(self, existing: ClusterObjects) -> tuple[ClusterObjects, tuple[Refusal, ...]]:
        """Return the cluster with its security, and the refusals."""
        cluster = existing.cluster
        if isinstance(cluster, FoundationDBCluster):
            found = await self._transport.keep(cluster, on=runs_with(existing))
            return replace(existing, cluster=found.cluster, protection=found.protection), found.refusals
        if not isinstance(cluster, SearchCluster):
            return existing, ()
        kept = await self._keeper.keep(cluster, alone=not existing.sets and not existing.pods)
        refused = refusals(kept.asked or cluster, kept.protection) if kept.protection is not None else ()
        secured = replace(existing, cluster=kept.cluster, access=kept.access, protection=kept.protection)
        return secured, refused

    async def _administrator_created(self, turn: Round) -> tuple[Round, Exception | None]:
        """Create the first administrator of a secured database, once in its life; returns the error too."""
        known, database = turn.observed.protection, turn.observed.database
        reached = isinstance(database, Database) and database.secured
        if known is None or not known.enabled or known.administrator or not reached or ADMINISTRATOR in known.faults:
            return turn, None
        try:
            name, password = await self._keeper.administrator(turn.existing.cluster)
            async with self._fence():
                await self._family.engine.add_user(self._family.target(turn.existing), name, password)
        except (ApiError, NotOwnedError, EngineError, KeyError) as error:
            return turn, error  # The queue logs it when the round has ended.
        known = msgspec.structs.replace(known, administrator=True)
        return replace(turn, observed=msgspec.structs.replace(turn.observed, protection=known)), None

    def _now(self) -> float:
        return self._clock.now().timestamp()
