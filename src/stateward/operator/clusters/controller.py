"""Schedules the reconciliation of one kind of clusters, with a queue and workers of its own.

So a kind whose databases hang, or whose CRD is not installed, delays only its own clusters.
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level
from stateward.engines.connection.base import Speed, Target
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.election.fence import Fence
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key
from stateward.kube.queue.event_pace import EventPace
from stateward.kube.queue.queue import WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.clock import Clock
from stateward.kube.timing.turns import Turns
from stateward.operator.act.act import Actor
from stateward.operator.act.agent_requests import AgentRequests
from stateward.operator.act.announce import Announcer
from stateward.operator.act.shared_objects import SharedObjects
from stateward.operator.clusters.database_reader import DatabaseReader
from stateward.operator.clusters.exit_watch import ExitWatch
from stateward.operator.clusters.forecast_worker import Compute
from stateward.operator.clusters.forecasts import Forecasts
from stateward.operator.clusters.history import Histories
from stateward.operator.clusters.joined import concerned
from stateward.operator.clusters.reconcile import Parts, Reconciler
from stateward.operator.clusters.replacement_limit import ReplacementLimit
from stateward.operator.databases.engine import Family
from stateward.operator.objects.caches import Caches, Objects
from stateward.operator.objects.ownership import TakenNames
from stateward.operator.observe.referenced_data import ReferencedData
from stateward.operator.pod_rights.labels import PodRights
from stateward.operator.restarts.views import SourceView
from stateward.operator.runtime.failing import Failing
from stateward.operator.runtime.metrics import Metrics
from stateward.operator.security.cluster_file import ClusterFiles
from stateward.operator.security.credentials import Credentials
from stateward.operator.security.foundationdb_tls import TransportKeeper
from stateward.operator.security.security import Keeper
from stateward.planning.model.database import Database, Unknown

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Common:
    """What the controllers of all kinds share."""

    api: Api
    objects: Objects
    recorder: EventRecorder
    metrics: Metrics
    fence: Fence
    clock: Clock
    rng: random.Random
    workers: int
    limit: ReplacementLimit
    secure_new_clusters: bool
    namespace: str
    """The operator's own namespace, which has the key of digests."""
    pod_policy: Level = Level.BASELINE
    labelled: bool = False
    """Whether objects of others that clusters use need the label that allows it."""
    network_policies: bool = False
    """Whether clusters get NetworkPolicies."""
    forecast: Compute | None = None
    """Forecasts how long a change takes; without it, changes are not compared with forecasts."""
    turns: Turns = field(default_factory=Turns)
    """The turns of what takes long to compute for a large spec."""
    wave: str = ""
    """The wave whose clusters it manages; empty for the operator of all others."""


class Controller:
    """Everything that works on clusters of one kind."""

    def __init__(self, family: Family, common: Common) -> None:
        api, clock = common.api, common.clock
        self.family = family
        self.caches = Caches(family.kind, common.objects, common.wave)
        observer = common.metrics.queue(family.kind.resource.plural)
        self.queue = WorkQueue[Key](clock=clock, observer=observer, rng=common.rng)
        self.data = ReferencedData(api, common.namespace, clock, labelled=common.labelled)
        taken = TakenNames(api, clock)
        agent_requests = AgentRequests(family.agents, Credentials(api, self.caches, clock, taken))
        self._exit_watch = ExitWatch(agent_requests, clock, self.queue.add)
        self.rights = PodRights(api, family, labelled=common.labelled, turns=common.turns)
        self._histories = Histories(api, clock)
        self._forecasts = Forecasts(family, common.metrics, common.forecast, self._histories.known)
        parts = Parts(
            caches=self.caches,
            family=family,
            agent_requests=agent_requests,
            actor=Actor(api, self.caches, family, agent_requests, common.fence, taken=taken, level=common.pod_policy),
            shared_objects=SharedObjects(api, self.caches, family, clock, taken),
            files=ClusterFiles(api, self.caches),
            transport=TransportKeeper(api, self.caches, clock, labelled=common.labelled),
            keeper=Keeper(api, self.caches, clock, by_default=common.secure_new_clusters, labelled=common.labelled),
            data=self.data,
            announcer=Announcer(common.recorder),
            metrics=common.metrics,
            clock=clock,
            limit=common.limit,
            exit_watch=self._exit_watch,
            histories=self._histories,
            forecasts=self._forecasts,
            fence=common.fence,
            rights=self.rights,
            pod_policy=common.pod_policy,
            network_policies=common.network_policies,
            turns=common.turns,
        )
        common.limit.count(self.caches.clusters)
        reconciler = self._reconciler = Reconciler(api, parts)
        listener = Failing(family.kind.resource.plural, common.metrics, clock, reconciler.tell_failure)
        self._reads = DatabaseReader(api, family, self.caches)
        self._pace = EventPace(self.queue, clock)
        self._workers = Workers(self.queue, self._reconcile, count=common.workers, clock=clock, observer=observer)
        self._workers.tell(listener)
        watching = ReflectorOptions(clock=clock, observer=common.metrics, rng=common.rng)
        self.reflectors = tuple(self.caches.reflectors(api, watching))
        self.caches.on_change(self._pace.add)
        self.caches.clusters.subscribe(self._on_joined)

    def follow(self, watched: Mapping[str, Store[SourceView]]) -> None:
        """Begin rounds of clusters when a watch reports a change of data that they use."""
        self.data.follow(watched, self._pace.add)

    def _on_joined(self, delta: Delta[Cluster]) -> None:
        """Begin a round of the existing clusters that trust a changed one."""
        for key in concerned(delta, self.caches.clusters.get):
            self._pace.add(key)

    async def _reconcile(self, key: Key) -> float | None:
        self._pace.begun(key)
        return await self._reconciler.reconcile(key)

    @property
    def missing(self) -> bool:
        """Whether the API server does not serve the kind at all: then no cluster of it exists."""
        return any(reflector.missing for reflector in self.reflectors)

    def target(self, key: Key) -> Target | None:
        """Return how the database of a cluster was reached last; None if this process has not reached it yet."""
        return self._reconciler.target(key)

    async def way(self, key: Key) -> Target | Unknown | None:
        """Return how a database is reached by what this process knows, with the lease or without it; or why not.

        None if this operator manages no such cluster.
        """
        return self._reconciler.target(key) or await self._reads.target(key)

    async def report(self, key: Key) -> Database | Unknown | None:
        """Return what a cluster's database reports now, by reads alone; None if there is no such cluster here."""
        return await self._reads.report(key, self._reconciler.target(key))

    async def speed(self, key: Key) -> Speed:
        """Return how fast a cluster's database recovers copies; unknown values if it does not answer."""
        return await self._reads.speed(key, self._reconciler.target(key))

    async def run(self) -> None:
        """Work on the clusters, once all of them are known, until the queue is closed."""
        await self.caches.wait_synced()
        _log.info("working", kind=self.family.kind.resource.kind, clusters=len(self.caches.clusters))
        async with asyncio.TaskGroup() as group:
            self._exit_watch.begin(group)
            self._forecasts.begin(group)
            await self._workers.run()
            self._exit_watch.end()
            self._forecasts.end()

    async def stop(self, grace: float) -> None:
        """Finish running work, within `grace` seconds."""
        await self._workers.stop(grace)
        await self._histories.flush()
