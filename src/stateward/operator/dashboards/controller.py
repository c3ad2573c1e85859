"""The controller of dashboards and routes: watches search clusters and Deployments, and runs rounds.

It has a queue of its own, beside that of the databases: dashboards that hang delay no database.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
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
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.workloads import Deployment
from stateward.kube.queue.queue import WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.clock import Clock
from stateward.operator.dashboards.health import AsksHealth
from stateward.operator.dashboards.owned import Memo
from stateward.operator.dashboards.reconcile import Round, Tools
from stateward.operator.declared.database import Databases
from stateward.operator.objects.caches import Caches
from stateward.operator.pod_rights.labels import PodRights
from stateward.operator.runtime.failing import Failing, FailureGauge, Uncounted
from stateward.operator.runtime.traces import span
from stateward.operator.security.given_secrets import GivenSecrets

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
    """The caches of the kinds of search clusters."""
    rights: Mapping[str, PodRights]
    """What decides whether pods may have what a spec gives them, by engine."""
    health: AsksHealth
    namespaces: tuple[str, ...] = ("",)
    workers: int = 4
    rng: random.Random = field(default_factory=random.Random)
    gauge: FailureGauge = field(default_factory=Uncounted)
    level: Level = Level.BASELINE
    labelled: bool = False
    network_policies: bool = False
    routes: bool = False


class DashboardsControl:
    """Keeps the dashboards and routes of all search clusters that this operator manages."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._caches = {caches.kind.engine: caches for caches in setting.kinds}
        self._given = GivenSecrets(setting.api, setting.clock, labelled=setting.labelled)
        self._memos: dict[Place, Memo] = {}
        self._deployments: Store[Deployment] = Store(kinds.DEPLOYMENTS.plural, namespaces=setting.namespaces)
        self._queue = WorkQueue[Place](clock=setting.clock, rng=setting.rng)
        self._workers = Workers(self._queue, self.reconcile, count=setting.workers, clock=setting.clock)
        self._workers.tell(Failing("dashboards", setting.gauge, setting.clock, self.tell_failure))

    async def run(self) -> None:
        """Watch and work until cancelled, or until `stop`."""
        setting = self._setting
        options = ReflectorOptions(clock=setting.clock, rng=setting.rng)
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(
                    Reflector(
                        setting.api,
                        kinds.DEPLOYMENTS,
                        Selection(namespace, labels=names.LABEL_DASHBOARDS),
                        self._deployments,
                        options,
                    ).run()
                )
                for namespace in setting.namespaces
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
        with span("reconcile dashboards", engine=place.engine, namespace=place.namespace, name=place.name):
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
        if cached is None or not _concerns(cached) or not self._setting.databases.managed(cached):
            self._memos.pop(place, None)
            return None
        try:
            live = await self._setting.api.get(caches.kind.resource, key)
        except NotFound:
            return None
        gone = live.metadata.deletion_timestamp is not None
        if gone or not isinstance(live, SearchCluster) or not self._setting.databases.managed(live):
            return None
        return Round(self._tools(caches), live, self._memos.setdefault(place, {}))

    def _tools(self, caches: Caches) -> Tools:
        s = self._setting
        return Tools(
            api=s.api,
            kind=caches.kind.resource,
            engine=caches.kind.engine,
            databases=s.databases,
            rights=s.rights[caches.kind.engine],
            given=self._given,
            health=s.health,
            recorder=s.recorder,
            clock=s.clock,
            level=s.level,
            network_policies=s.network_policies,
            routes=s.routes,
        )

    def _on_cluster(self, engine: str) -> Any:
        def heard(delta: Delta[Cluster]) -> None:
            if _matters(delta.old) != _matters(delta.new):
                self._queue.add_after(Place(engine, delta.key.namespace, delta.key.name), SOON)

        return heard

    def _on_deployment(self, delta: Delta[Deployment]) -> None:
        for found in (delta.old, delta.new):
            if found is not None:
                labels = found.metadata.labels
                engine = labels.get(names.LABEL_ENGINE, "")
                if engine in self._caches:
                    place = Place(engine, delta.key.namespace, labels.get(names.LABEL_DASHBOARDS, ""))
                    self._queue.add_after(place, SOON)


def _place(engine: str, cluster: Cluster) -> Place:
    return Place(engine, cluster.metadata.namespace, cluster.metadata.name)


def _concerns(cluster: Cluster) -> bool:
    """Return whether a cluster has dashboards or routes, or something of them is left."""
    status = cluster.status
    asked = isinstance(cluster, SearchCluster) and (cluster.spec.dashboards or cluster.spec.routes) is not None
    return asked or status.dashboards is not None or status.routes is not None


def _matters(cluster: Cluster | None) -> tuple[object, ...] | None:
    """Return the parts of a cluster whose change begins a round: not each step of its members."""
    if cluster is None or not _concerns(cluster) or not isinstance(cluster, SearchCluster):
        return None
    meta, status, spec = cluster.metadata, cluster.status, cluster.spec
    parts = (spec.dashboards, spec.routes, spec.version, status.version, status.cluster_uuid, status.security)
    return (meta.uid, meta.deletion_timestamp, meta.annotations, *parts)
