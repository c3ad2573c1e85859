"""The controller of one kind of thing beside clusters: watches clusters and Deployments, and runs rounds.

Each kind has a queue of its own, beside that of the databases: dashboards that hang delay no database and no exporter.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level
from stateward.api.values import names
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.workloads import Deployment
from stateward.kube.queue.queue import WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.clock import Clock
from stateward.kube.timing.observers import Unobserved, WatchObserver
from stateward.operator.beside.owned import Memo
from stateward.operator.declared.database import Databases
from stateward.operator.objects.caches import Caches
from stateward.operator.pod_rights.labels import PodRights
from stateward.operator.runtime.failing import Failing, FailureGauge, Uncounted
from stateward.operator.runtime.traces import span

SOON = 0.2
"""Seconds between a change and its round: changes come in groups."""


class Place(NamedTuple):
    """A cluster: the engine of its kind, namespace and name."""

    engine: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.engine} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of the control."""

    api: Api
    databases: Databases
    recorder: EventRecorder
    clock: Clock
    kinds: Sequence[Caches]
    """The caches of the kinds of clusters that have it."""
    rights: Mapping[str, PodRights]
    """What decides whether pods may have what a spec gives them, by engine."""
    namespaces: tuple[str, ...] = ("",)
    workers: int = 4
    rng: random.Random = field(default_factory=random.Random)
    gauge: FailureGauge = field(default_factory=Uncounted)
    watches: WatchObserver = field(default_factory=Unobserved)
    level: Level = Level.BASELINE
    labelled: bool = False
    network_policies: bool = False


@dataclass(frozen=True, slots=True)
class Tools:
    """What the rounds of all clusters of one kind share."""

    api: Api
    kind: Resource[Any]
    engine: str
    databases: Databases
    rights: PodRights
    recorder: EventRecorder
    clock: Clock
    level: Level
    network_policies: bool


class Round(Protocol):
    """One round of one cluster, from its live state."""

    async def run(self) -> float | None:
        """Reconcile; returns the seconds until the next round, None if there is nothing to keep.

        Raises ApiError, LostLease.
        """
        ...

    async def fail(self, sentence: str) -> None:
        """Report that rounds fail; raises ApiError."""
        ...


class Part(Protocol):
    """What is kept beside clusters."""

    @property
    def name(self) -> str:
        """The name in metrics, logs and traces."""
        ...

    @property
    def label(self) -> str:
        """The label of its Deployments, with the name of the cluster; empty if it has none."""
        ...

    def matters(self, cluster: Cluster) -> tuple[object, ...] | None:
        """Return what of a cluster begins a round if it changes; None if the cluster has nothing of this."""
        ...

    def round(self, tools: Tools, live: Cluster, memo: Memo) -> Round:
        """Return a round of a cluster."""
        ...


class BesideControl:
    """Keeps one part beside all clusters that this operator manages."""

    def __init__(self, setting: Setting, part: Part) -> None:
        self._setting = setting
        self._part = part
        self._caches = {caches.kind.engine: caches for caches in setting.kinds}
        self._memos: dict[Place, Memo] = {}
        self._deployments: Store[Deployment] = Store(kinds.DEPLOYMENTS.plural, namespaces=setting.namespaces)
        self._queue = WorkQueue[Place](clock=setting.clock, rng=setting.rng)
        self._workers = Workers(self._queue, self.reconcile, count=setting.workers, clock=setting.clock)
        self._workers.tell(Failing(part.name, setting.gauge, setting.clock, self.tell_failure))

    async def run(self) -> None:
        """Watch and work until cancelled, or until `stop`."""
        setting = self._setting
        options = ReflectorOptions(clock=setting.clock, observer=setting.watches, rng=setting.rng)
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(
                    Reflector(
                        setting.api,
                        kinds.DEPLOYMENTS,
                        Selection(namespace, labels=self._part.label),
                        self._deployments,
                        options,
                    ).run()
                )
                for namespace in (setting.namespaces if self._part.label else ())
            ]
            self._deployments.subscribe(self._on_deployment)
            for caches in setting.kinds:
                caches.clusters.subscribe(self._on_cluster(caches.kind.engine))
                for cluster in caches.clusters.all():
                    self._queue.add(_place(caches.kind.engine, cluster))
            await self._workers.run()
            for task in watching:
                task.cancel()

    async def stop(self, grace: float) -> None:
        """Finish running work, within `grace` seconds."""
        await self._workers.stop(grace)

    async def reconcile(self, place: Place) -> float | None:
        """Run a round of one cluster; returns the seconds until the next one, None if there is nothing to keep.

        Raises ApiError, LostLease.
        """
        found = await self._round(place)
        if found is None:
            return None
        with span(f"reconcile {self._part.name}", engine=place.engine, namespace=place.namespace, name=place.name):
            return await found.run()

    async def tell_failure(self, place: Place, sentence: str) -> None:
        """Write into the status that rounds fail; raises ApiError, LostLease."""
        found = await self._round(place)
        if found is not None:
            await found.fail(sentence)

    async def _round(self, place: Place) -> Round | None:
        """Return a round of the cluster as the API server has it now; None if it is none of ours."""
        caches, key = self._caches[place.engine], ObjectKey(place.namespace, place.name)
        cached = caches.clusters.get(key)
        if cached is None or self._matters(cached) is None or not self._setting.databases.managed(cached):
            self._memos.pop(place, None)
            return None
        try:
            live = await self._setting.api.get(caches.kind.resource, key)
        except NotFound:
            return None
        gone = live.metadata.deletion_timestamp is not None
        if gone or not self._setting.databases.managed(live):
            return None
        return self._part.round(self._tools(caches), live, self._memos.setdefault(place, {}))

    def _tools(self, caches: Caches) -> Tools:
        s = self._setting
        return Tools(
            api=s.api,
            kind=caches.kind.resource,
            engine=caches.kind.engine,
            databases=s.databases,
            rights=s.rights[caches.kind.engine],
            recorder=s.recorder,
            clock=s.clock,
            level=s.level,
            network_policies=s.network_policies,
        )

    def _matters(self, cluster: Cluster | None) -> tuple[object, ...] | None:
        """Return the parts of a cluster whose change begins a round: not each step of its members."""
        found = self._part.matters(cluster) if cluster is not None else None
        if cluster is None or found is None:
            return None
        meta, status = cluster.metadata, cluster.status
        known = (cluster.spec.version, status.version, status.cluster_uuid, status.security)
        return (meta.uid, meta.deletion_timestamp, meta.annotations, *known, *found)

    def _on_cluster(self, engine: str) -> Any:
        def heard(delta: Delta[Cluster]) -> None:
            if self._matters(delta.old) != self._matters(delta.new):
                self._queue.add_after(Place(engine, delta.key.namespace, delta.key.name), SOON)

        return heard

    def _on_deployment(self, delta: Delta[Deployment]) -> None:
        for found in (delta.old, delta.new):
            if found is not None:
                labels = found.metadata.labels
                engine = labels.get(names.LABEL_ENGINE, "")
                if engine in self._caches:
                    place = Place(engine, delta.key.namespace, labels.get(self._part.label, ""))
                    self._queue.add_after(place, SOON)


def _place(engine: str, cluster: Cluster) -> Place:
    return Place(engine, cluster.metadata.namespace, cluster.metadata.name)
