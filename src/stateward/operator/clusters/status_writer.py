"""The status of a cluster: what is written before a member is disrupted, after a round, and when rounds fail."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec
import structlog

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import ClusterStatus
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects.errors import Conflict, Invalid, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.operator.act.announce import Announcer
from stateward.operator.act.perform import Outcome
from stateward.operator.act.shared_objects import SharedObjects
from stateward.operator.clusters.forecasts import Forecasts
from stateward.operator.clusters.history import Histories
from stateward.operator.clusters.pace import StatusPace, seconds_without_progress
from stateward.operator.clusters.round import Round
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.kinds import ClusterKind
from stateward.operator.runtime.metrics import Metrics
from stateward.planning.model.intent import Wait
from stateward.planning.report.reconcile_failure import failure_status
from stateward.planning.report.status import status
from stateward.planning.report.urgency import is_urgent, moves_on, states_of

_log = structlog.get_logger(__name__)

RACES = 4
"""After so many rounds in a row whose status was too late, a round counts as failed: that is reported in the end."""
RECORDED = "the values that the status has just recorded are sent to the members"
"""Why a cluster is not Ready although all else is done: Ready means that nothing is left to write."""


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a write, also of one that was not necessary."""

    settled: bool
    idle: float
    """Seconds without progress."""
    held: float
    """Seconds until a change is written that is not urgent; 0 if there is none."""


@dataclass(slots=True)
class StatusWriter:
    """Writes the statuses of the clusters of one kind."""

    api: Api
    kind: ClusterKind
    caches: Caches
    shared_objects: SharedObjects
    announcer: Announcer
    metrics: Metrics
    histories: Histories
    forecasts: Forecasts
    clock: Clock
    pace: StatusPace
    _told: set[Key] = field(default_factory=set[Key])
    """Clusters whose status shows the failure of their last round."""
    _races: Counter[Key] = field(default_factory=Counter[Key])
    """Rounds in a row whose status was too late: another client had changed the cluster since it was read."""

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a cluster."""
        self.pace.forget(key)
        self.histories.forget(key)
        self.forecasts.forget(key)
        self._told.discard(key)
        self._races.pop(key, None)

    def begin(self, key: Key) -> None:
        """Note that a round begins: its failure is not in the status yet."""
        self._told.discard(key)

    def failed(self, key: Key) -> None:
        """Note that the status that was just written shows the failure of its round."""
        self._told.add(key)

    def raced(self, key: Key, error: Conflict) -> None:
        """Note that a cluster was edited before its status was written; raises the error if that goes on.

        The disaster this prevents: two other tools set an annotation back and forth, no status is written, no member
        restarts, and nothing says why.
        """
        self._races[key] += 1
        if self._races[key] > RACES:
            raise error
        _log.info("looking again", why=error.message)

    async def record_first(self, key: Key, turn: Round) -> Round:
        """Write what later plans rely on before the actions; raises Conflict if the cluster was edited.

        The disaster this prevents: each operator that notices a new member is killed while it acts, so no status says
        that the member has joined, and it does not count as down when its pod is lost.
        """
        if not turn.plan.records_first:
            return turn
        after = status(turn.observed, turn.plan, turn.known_status, self._now())
        if not is_urgent(turn.before, after):
            return turn
        self.announcer.changed(turn.existing.cluster, turn.before, after)
        written = await self._patch_status(key, turn.existing.cluster, after)
        self.pace.wrote(key)
        self.forecasts.wrote(key, turn, after, self._now())
        cluster = msgspec.structs.replace(turn.existing.cluster, metadata=written.metadata)
        return replace(turn, existing=replace(turn.existing, cluster=cluster), before=after, ahead=False)

    async def write(self, key: Key, turn: Round, outcome: Outcome) -> Written:
        """Write the status if it has changed; raises ApiError, Conflict."""
        before = turn.before
        shown = turn.plan
        failed = outcome.waits(key.name)
        if failed:
            shown = msgspec.structs.replace(shown, waits=(*shown.waits, *failed), settled=False)
        now = self._now()
        known = turn.known_status
        after = status(turn.observed, shown, known, now)
        if shown.settled and self.shared_objects.changes(turn.existing, after, shown.budgets):
            shown = msgspec.structs.replace(shown, settled=False, activity=RECORDED)
            after = status(turn.observed, shown, known, now)
        after = self.forecasts.complete(key, after)
        self.metrics.cluster(self.kind.engine, key, shown, after)
        idle = seconds_without_progress(after, now)
        self.histories.note(key, turn.existing.cluster, after, now)
        # The history comes first: after Ready nothing is left to write, unless the cluster changes many times a minute.
        later = await self.histories.write(key, settled=shown.settled)
        if after == before and not turn.ahead:
            self._races.pop(key, None)
            self.pace.same(key)
            return Written(shown.settled, idle, later)
        urgent = is_urgent(before, after) or is_new(failed, before)
        states = states_of(after) if moves_on(before, after) else None
        held = 0.0 if urgent else self.pace.seconds_left(key, states)
        if held > 0:
            return Written(shown.settled, idle, held)
        self.announcer.changed(turn.existing.cluster, before, after)
        await self._patch_status(key, turn.existing.cluster, after)
        self._races.pop(key, None)
        self.pace.wrote(key)
        self.forecasts.wrote(key, turn, after, now)
        return Written(shown.settled, idle, later)

    async def tell_failure(self, key: Key, sentence: str) -> None:
        """Record failing reconciliations in the status, unless already recorded; raises ApiError, Conflict."""
        if key in self._told:
            return
        try:
            cluster = await self.api.get(self.kind.resource, key)
        except NotFound:
            return
        after = failure_status(cluster.status, key.name, sentence, self._now())
        self.histories.note(key, cluster, after, self._now())
        if after != cluster.status and cluster.metadata.deletion_timestamp is None:
            await self._patch_status(key, cluster, after)
            self.announcer.changed(cluster, cluster.status, after)

    async def _patch_status(self, key: Key, cluster: Cluster, after: ClusterStatus) -> Cluster:
        """Replace the status, if the cluster is still the one that was read: two leaders must not overwrite another."""
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": cluster.metadata.uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": cluster.metadata.resource_version},
            {"op": "add", "path": "/status", "value": msgspec.to_builtins(after)},
        ]
        try:
            written = await self.api.patch(self.kind.resource, key, patch, kind=PatchKind.JSON, subresource="status")
        except Invalid as error:
            if error.causes:
                raise
            # The server's message for a failed precondition: the cluster was edited in between.
            raise Conflict(f"{key} has changed since it was read") from error
        self.caches.expectations(key).wrote(self.caches.clusters, written)
        return written

    def _now(self) -> float:
        return self.clock.now().timestamp()


def is_new(waits: Iterable[Wait], before: ClusterStatus) -> bool:
    """Return whether a status does not report one of these waits yet."""
    reported = {(wait.subject, wait.reason) for wait in before.waiting}
    return any((wait.subject, wait.reason) not in reported for wait in waits)
