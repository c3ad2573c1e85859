"""The controllers of declared resources: each watches one kind, its clusters and its Secrets, and reconciles each."""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.queue.event_pace import EventPace
from stateward.kube.queue.locks import Locks
from stateward.kube.queue.queue import WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.clock import Clock
from stateward.kube.timing.observers import Unobserved, WatchObserver
from stateward.operator.declared.database import Databases
from stateward.operator.declared.metrics import SnapshotMetrics, Unmeasured
from stateward.operator.declared.reconcile import ObjectReconciliation
from stateward.operator.declared.reporting import waits_for_others
from stateward.operator.declared.resource import RETRY_SECONDS, Reconciliation
from stateward.operator.declared.snapshots.restore import RestoreReconciliation
from stateward.operator.declared.snapshots.schedule import ScheduleReconciliation
from stateward.operator.declared.snapshots.snapshot import SnapshotReconciliation
from stateward.operator.declared.tools import DeclaredResource, Tools
from stateward.operator.declared.users import UserReconciliation
from stateward.operator.declared.views import (
    BY_CLUSTER,
    BY_SECRET,
    SEARCH_OBJECTS,
    SEARCH_RESTORES,
    SEARCH_SNAPSHOT_SCHEDULES,
    SEARCH_SNAPSHOTS,
    SEARCH_USERS,
    by_cluster,
    by_password_secret,
    by_secret,
    cluster_id,
    no_secret,
)
from stateward.operator.objects.caches import Caches
from stateward.operator.restarts.digestkey import digest_key
from stateward.operator.restarts.views import SourceView
from stateward.operator.runtime.failing import Failing, FailureGauge, Uncounted
from stateward.operator.runtime.traces import span
from stateward.planning.model.past_times import PastTimes
from stateward.planning.report.past_times import with_past_times

R = TypeVar("R", bound=DeclaredResource)


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of the controllers; `namespace` has the key of digests."""

    api: Api
    databases: Databases
    recorder: EventRecorder
    clock: Clock
    namespace: str
    kinds: Sequence[Caches]
    """The clusters whose changes matter."""
    secrets: Store[SourceView] | None = None
    """The Secrets of the namespaces, without their data; None: they are read again after some minutes."""
    namespaces: tuple[str, ...] = ("",)
    verifies: bool = False
    """Whether snapshots are verified in throw-away clusters."""
    labelled: bool = False
    """Whether Secrets that clusters name need the label that allows them."""
    workers: int = 4
    rng: random.Random = field(default_factory=random.Random)
    gauge: FailureGauge = field(default_factory=Uncounted)
    watches: WatchObserver = field(default_factory=Unobserved)
    metrics: SnapshotMetrics = field(default_factory=Unmeasured)


@dataclass(frozen=True)
class DeclaredKind(Generic[R]):
    """A kind of declared resource: how one is reconciled, and which Secrets it names, as namespace and name."""

    resource: Resource[R]
    reconciliation: Callable[[Tools[R], R], Reconciliation[R]]
    secrets: Callable[[R], Iterable[str]]
    gone: Callable[[SnapshotMetrics, ObjectKey], None] | None = None
    """What follows when a resource is gone."""


OBJECTS = DeclaredKind(SEARCH_OBJECTS, ObjectReconciliation, by_secret)
USERS = DeclaredKind(SEARCH_USERS, UserReconciliation, by_password_secret)
SNAPSHOTS = DeclaredKind(SEARCH_SNAPSHOTS, SnapshotReconciliation, no_secret)
SCHEDULES = DeclaredKind(
    SEARCH_SNAPSHOT_SCHEDULES, ScheduleReconciliation, no_secret, lambda metrics, key: metrics.unscheduled(key)
)
RESTORES = DeclaredKind(SEARCH_RESTORES, RestoreReconciliation, no_secret)


class KindControl(Generic[R]):
    """Keeps all resources of one kind."""

    def __init__(self, kind: DeclaredKind[R], setting: Setting) -> None:
        self._kind = kind
        self._setting = setting
        name = kind.resource.plural
        indexes: Mapping[str, Any] = {BY_CLUSTER: by_cluster, BY_SECRET: kind.secrets}
        self.objects: Store[R] = Store(name, indexes=indexes, namespaces=setting.namespaces)
        self._queue = WorkQueue[ObjectKey](clock=setting.clock, rng=setting.rng)
        self._pace = EventPace(self._queue, setting.clock)
        self._workers = Workers(self._queue, self.reconcile, count=setting.workers, clock=setting.clock)
        self._workers.tell(Failing(name, setting.gauge, setting.clock, self.tell_failure))
        self._tools: Tools[R] | None = None
        self._locks = Locks[str]()
        self._past = PastTimes()

    async def run(self) -> None:
        """Watch and work until cancelled, or until `stop`."""
        setting, options = (
            self._setting,
            ReflectorOptions(clock=self._setting.clock, observer=self._setting.watches, rng=self._setting.rng),
        )
        api, kind = setting.api, self._kind.resource
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(Reflector(api, kind, Selection(namespace), self.objects, options).run())
                for namespace in setting.namespaces
            ]
            await self.objects.wait_synced()
            self.objects.subscribe(self._on_object)
            for caches in setting.kinds:
                caches.clusters.subscribe(self._on_cluster(caches.kind.resource.kind))
            if setting.secrets is not None:
                setting.secrets.subscribe(self._on_secret)
            await self._workers.run()
            for task in watching:
                task.cancel()

    async def stop(self, grace: float) -> None:
        """Finish running work, within `grace` seconds."""
        await self._workers.stop(grace)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one resource; returns the seconds until the next time. Raises ApiError, LostLease, ValueError."""
        self._pace.begun(key)
        live = await self.live(key)
        if live is None:
            if self._kind.gone is not None:
                self._kind.gone(self._setting.metrics, key)
            return None
        with span("reconcile", kind=self._kind.resource.kind, namespace=key.namespace, name=key.name):
            return await self._kind.reconciliation(await self.tools(), live).run()

    async def live(self, key: ObjectKey) -> R | None:
        """Return a resource as the API server has it now; None if there is none. Raises ApiError.

        No time of the past is ahead in its status, which differs then from the stored one, and so is written.
        """
        try:
            found: Any = await self._setting.api.get(self._kind.resource, key)
        except NotFound:
            return None
        past = self._past.at(self._setting.clock.now().timestamp())
        return replace(found, status=with_past_times(found.status, past))

    async def tools(self) -> Tools[R]:
        """Return what reconciliations share; raises ApiError, ValueError."""
        if self._tools is None:
            s = self._setting
            key = await digest_key(s.api, s.namespace)
            kind, databases, known = self._kind.resource, s.databases, self.objects
            self._tools = Tools(
                s.api,
                kind,
                databases,
                known,
                s.recorder,
                s.clock,
                key,
                s.metrics,
                self._locks,
                verifies=s.verifies,
                labelled=s.labelled,
                past=self._past,
            )
        return self._tools

    async def tell_failure(self, key: ObjectKey, sentence: str) -> None:
        """Write into the status that reconciliations fail; raises ApiError, LostLease."""
        live = await self.live(key)
        if live is not None:
            await self._kind.reconciliation(await self.tools(), live).fail(sentence)

    def _on_object(self, delta: Delta[R]) -> None:
        self._pace.add(delta.key)
        changed: Any = delta.new or delta.old
        others: Iterable[Any] = self.objects.indexed(BY_CLUSTER, cluster_id(changed))
        for other in others:
            if waits_for_others(other.status) and key_of(other) != delta.key:
                self._queue.add_after(key_of(other), 1.0)

    def _on_cluster(self, kind: str) -> Callable[[Delta[Cluster]], None]:
        def heard(delta: Delta[Cluster]) -> None:
            if _concerns(delta.old) == _concerns(delta.new):
                return
            found: Iterable[Any] = self.objects.indexed(BY_CLUSTER, f"{delta.key.namespace}/{kind}/{delta.key.name}")
            for each in found:
                self._queue.add_after(key_of(each), RETRY_SECONDS / 10)

        return heard

    def _on_secret(self, delta: Delta[SourceView]) -> None:
        found: Iterable[Any] = self.objects.indexed(BY_SECRET, f"{delta.key.namespace}/{delta.key.name}")
        for each in found:
            self._pace.add(key_of(each))


class DeclaredControl:
    """Keeps all declared resources, each kind by a controller of its own."""

    def __init__(self, setting: Setting) -> None:
        self.objects, users = KindControl(OBJECTS, setting), KindControl(USERS, setting)
        snapshots = (KindControl(SNAPSHOTS, setting), KindControl(SCHEDULES, setting), KindControl(RESTORES, setting))
        self._controls: tuple[KindControl[Any], ...] = (self.objects, users, *snapshots)

    async def run(self) -> None:
        """Watch and work until cancelled, or until `stop`."""
        async with asyncio.TaskGroup() as group:
            for control in self._controls:
                group.create_task(control.run())

    async def stop(self, grace: float) -> None:
        """Finish running work, within `grace` seconds."""
        await asyncio.gather(*(control.stop(grace) for control in self._controls))


def _concerns(cluster: Cluster | None) -> Mapping[str, object] | None:
    """Return the parts of a cluster whose change matters to its objects: not each step of its members."""
    if cluster is None:
        return None
    meta, status = cluster.metadata, cluster.status
    return {
        "uid": meta.uid,
        "deleted": meta.deletion_timestamp is not None,
        "wave": meta.annotations,
        "formed": status.cluster_uuid,
        "version": status.version,
        "begun": status.bootstrap.restored_snapshot if status.bootstrap is not None else "",
    }
