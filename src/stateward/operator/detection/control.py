"""Keeps one CronJob for each cluster with automatic replacement, and none for any other.

Level-based: the desired CronJobs follow from the clusters, the existing ones are listed, and the difference is applied.
So a CronJob whose cluster was deleted while no operator ran is found and removed. A CronJob of a kind or a namespace
that this process does not know completely is left alone: unknown is not absent.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
import structlog

from stateward.api.checks.detection import sorted_out
from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json
from stateward.api.values.duration import DurationError
from stateward.api.values.names import FIELD_MANAGER
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import ApiError, Invalid, NotFound
from stateward.kube.objects.metadata import Key, PartialObject, key_of
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import CRON_JOBS
from stateward.kube.timing.clock import Clock
from stateward.operator.detection.cronjob import ANNOTATION_CLUSTER, LABEL_DETECTS, Place, cron_job
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.kinds import ClusterKind
from stateward.operator.runtime.failing import Failing, FailureGauge, Uncounted
from stateward.operator.runtime.periodic import Periodic
from stateward.planning.report.reconcile_failure import REASON

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Setting:
    """What the control works with."""

    api: Api
    recorder: EventRecorder
    clock: Clock
    place: Place
    kinds: Sequence[Caches]
    namespaces: tuple[str, ...] = ("",)
    gauge: FailureGauge = field(default_factory=Uncounted)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A desired CronJob, and its cluster."""

    kind: ClusterKind
    cluster: Cluster
    body: Json
    plain: Json
    """The same without settings."""
    ignored: str = ""
    """What is wrong with the settings that were not taken."""


class DetectionControl:
    """Creates, changes and removes the CronJobs."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._made: dict[str, tuple[str, int, Json]] = {}
        self._said: dict[str, str] = {}
        self._said_ignored: dict[str, str] = {}
        failing = Failing[str]("detection", setting.gauge, setting.clock, self._tell_failure)
        self._loop = Periodic("cronjobs", self.sweep, setting.clock, failing)

    async def run(self) -> None:
        """Work until cancelled, or until `stop`."""
        for caches in self._setting.kinds:
            caches.clusters.subscribe(self._loop.hear)
        await self._loop.run()

    async def _tell_failure(self, _: str, sentence: str) -> None:
        """Report as an event on each cluster with detection that its CronJob is not maintained."""
        for one in self._wanted().values():
            self._say(
                one, REASON, f"the operator does not maintain the CronJob that detects missing members: {sentence}"
            )

    async def stop(self, grace: float) -> None:  # noqa: ARG002 - a sweep is one write at a time
        """Begin nothing more."""
        self._loop.stop()

    async def sweep(self) -> None:
        """Apply the desired CronJobs, and remove the others; raises ApiError if they cannot be listed."""
        api, place = self._setting.api, self._setting.place
        state = await list_all(api, CRON_JOBS, Selection(place.namespace, labels=LABEL_DETECTS))
        there = {job.metadata.name: job for job in state.hand_over()}
        wanted = self._wanted()
        for name, one in wanted.items():
            self._tell_ignored(name, one)
            await self._make(name, one, there.get(name))
        self._made = {name: made for name, made in self._made.items() if name in wanted}
        self._said = {name: said for name, said in self._said.items() if name in wanted}
        self._said_ignored = {name: said for name, said in self._said_ignored.items() if name in wanted}
        for name, job in there.items():
            if name not in wanted and self._known(job):
                await self._remove(job)

    def _wanted(self) -> Mapping[str, Wanted]:
        found: dict[str, Wanted] = {}
        for caches in self._setting.kinds:
            for cluster in caches.managed():
                policy = cluster.spec.replacement
                if policy is None or not policy.enabled or cluster.metadata.deletion_timestamp is not None:
                    continue
                with suppress(DurationError):  # It is told as an invalid spec.
                    body = cron_job(self._setting.place, caches.kind.engine, key_of(cluster), policy)
                    unset = msgspec.structs.replace(policy, detection=None)
                    plain = cron_job(self._setting.place, caches.kind.engine, key_of(cluster), unset)
                    wrong = sorted_out(policy.detection or {})[1]
                    ignored = "; ".join(str(problem) for problem in wrong)
                    found[body["metadata"]["name"]] = Wanted(caches.kind, cluster, body, plain, ignored)
        return found

    async def _make(self, name: str, one: Wanted, job: PartialObject | None) -> None:
        if job is not None and self._made.get(name) == (job.metadata.uid, job.metadata.generation, one.body):
            return
        key = Key(self._setting.place.namespace, name)
        try:
            made = await self._setting.api.apply(CRON_JOBS, key, one.body, ApplyOptions(FIELD_MANAGER, force=True))
        except ApiError as error:
            await self._replace_stale(job, key, one, error)
            self._tell(one, f"the CronJob that detects missing members is refused: {error}")
            return
        self._said.pop(name, None)
        self._made[name] = (made.metadata.uid, made.metadata.generation, one.body)

    async def _replace_stale(self, job: PartialObject | None, key: Key, one: Wanted, error: ApiError) -> None:
        """Apply the CronJob without settings if the server refuses them: the cluster may be older than the rules."""
        if job is not None and isinstance(error, Invalid):
            with suppress(ApiError):  # The refusal is told in any case.
                await self._setting.api.apply(CRON_JOBS, key, one.plain, ApplyOptions(FIELD_MANAGER, force=True))

    async def _remove(self, job: PartialObject) -> None:
        with suppress(NotFound):
            await self._setting.api.delete(CRON_JOBS, key_of(job), DeleteOptions(Preconditions.of(job)))

    def _known(self, job: PartialObject) -> bool:
        """Return whether this process would know the CronJob's cluster if it existed."""
        engine = job.metadata.labels.get(LABEL_DETECTS, "")
        namespace, _, name = job.metadata.annotations.get(ANNOTATION_CLUSTER, "").partition("/")
        synced = [c.clusters for c in self._setting.kinds if c.kind.engine == engine and c.clusters.has_synced]
        mine = "" in self._setting.namespaces or namespace in self._setting.namespaces
        # A cluster that cannot be read, perhaps not even its name, may be this one.
        doubtful = any(
            unread in (Key(namespace, name), Key(namespace, ""), Key("", ""))
            for store in synced
            for unread in store.unreadable
        )
        return bool(synced) and bool(namespace) and mine and not doubtful

    def _tell(self, one: Wanted, note: str) -> None:
        """Say once what is wrong, as an event on the cluster."""
        name = one.body["metadata"]["name"]
        if self._said.get(name) == note:
            return
        self._said[name] = note
        _log.warning("no detection", cluster=str(key_of(one.cluster)), why=note)
        self._say(one, "DetectionRefused", note)

    def _tell_ignored(self, name: str, one: Wanted) -> None:
        """Say once which settings are not taken: they may have been stored before they were refused."""
        if not one.ignored:
            self._said_ignored.pop(name, None)
        elif self._said_ignored.get(name) != one.ignored:
            self._said_ignored[name] = one.ignored
            note = f"settings of the CronJob that detects missing members are ignored: {one.ignored}"
            _log.warning("settings of detection are ignored", cluster=str(key_of(one.cluster)), why=one.ignored)
            self._say(one, "DetectionRefused", note)

    def _say(self, one: Wanted, reason: str, note: str) -> None:
        subject = about(one.kind.resource, one.cluster)
        self._setting.recorder.record(Occurrence(subject, Severity.WARNING, reason, "Detect", note))
