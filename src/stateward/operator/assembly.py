"""What one operator process consists of: caches, the lease, the controllers of clusters, and their companions."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

import structlog

from stateward import __version__
from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level
from stateward.engines.connection.base import Speed
from stateward.kube.cache.reflector import ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.election.fence import FencedApi, LostLease, unfenced
from stateward.kube.election.lease import LeaderElection
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import STATEFUL_SETS
from stateward.kube.timing.clock import Clock, SystemClock
from stateward.operator.admission.judge import Verdict, changed, judge
from stateward.operator.admission.server_faults import faults_added
from stateward.operator.clusters.controller import Common, Controller
from stateward.operator.clusters.forecast_worker import Compute
from stateward.operator.clusters.replacement_limit import ReplacementLimit
from stateward.operator.companion import Companion
from stateward.operator.databases.engine import Family
from stateward.operator.objects.caches import Objects
from stateward.operator.objects.kinds import kind_of
from stateward.operator.observe.inventory import advance_warnings
from stateward.operator.pod_rights.labels import PodRights
from stateward.operator.pod_rights.server_validation import ServerValidation
from stateward.operator.restarts.views import SourceView
from stateward.operator.runtime.metrics import Metrics
from stateward.operator.runtime.options import LABELLED, OperatorOptions
from stateward.planning.model.database import Database, Unknown

_log = structlog.get_logger(__name__)
LEASE_MARGIN = 5.0
"""Seconds before the end of the lease at which every write has ended, or is cut off.

How long a request may take does not matter: what is left of the lease bounds it. This is the time that a server has to
carry out, or to drop, what had been sent just before the cut.
"""


class Operator:
    """Everything one operator process consists of, wired; `run` it in a task and cancel that to stop."""

    def __init__(  # noqa: PLR0913 - the last five are for few callers, and by name
        self,
        api: Api,
        families: Sequence[Family],
        options: OperatorOptions,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        metrics: Metrics | None = None,
        forecast: Compute | None = None,
        lease_api: Api | None = None,
    ) -> None:
        """Wire the operator; `lease_api` is for the lease alone, so that no other request delays a renewal."""
        self.clock = clock or SystemClock()
        self.rng = rng or random.Random()  # noqa: S311 - spreads load, hides nothing
        self.options = options
        self.metrics = metrics or Metrics()
        self.objects = Objects(options.watched)
        self.election = LeaderElection(
            lease_api or api,
            Key(options.lease_namespace, options.lease_name),
            options.identity,
            timing=options.lease_timing,
            clock=self.clock,
            rng=self.rng,
            # Members are there: without a lease, it was deleted.
            led_before=lambda: len(self.objects.owned[STATEFUL_SETS.plural]) > 0,
        )
        self.recorder = EventRecorder(api, "stateward.dev/operator", options.identity, clock=self.clock, rng=self.rng)
        self._api = api
        self.api = FencedApi(api, self.fence)
        common = Common(
            api=self.api,
            objects=self.objects,
            recorder=self.recorder,
            metrics=self.metrics,
            fence=self.fence,
            clock=self.clock,
            rng=self.rng,
            workers=options.workers,
            limit=ReplacementLimit(options.max_replacements),
            secure_new_clusters=options.secure_new_clusters,
            namespace=options.lease_namespace,
            pod_policy=Level(options.pod_policy),
            labelled=options.pod_references == LABELLED,
            network_policies=options.network_policies,
            forecast=forecast,
            wave=options.wave,
        )
        self._turns = common.turns
        self.controllers = {family.kind.engine: Controller(family, common) for family in families}
        self.companions: list[Companion] = []

    def follow(self, watched: Mapping[str, Store[SourceView]]) -> None:
        """Requeue clusters when a watch reports a change of data that they use."""
        for controller in self.controllers.values():
            controller.follow(watched)

    def unfilled(self) -> list[str]:
        """Return the caches without the whole state, by kind and namespace; a kind that is not served has none."""
        served = [controller.caches for controller in self.controllers.values() if not controller.missing]
        if not served:
            return ["clusters (the API server serves no kind of them)"]
        stores = (*self.objects.stores(), *(caches.clusters for caches in served))
        return [f"{store.name}{space and f' in namespace {space}'}" for store in stores for space in store.unfilled]

    async def judge(self, new: Cluster, old: Cluster | None) -> Verdict:
        """Return whether a new or changed cluster may be stored, and what would keep its new pods from starting."""
        key = Key(new.metadata.namespace, new.metadata.name)
        controller = self.controllers[kind_of(new).engine]
        existing = controller.caches.cluster_objects(key) if controller.caches.synced else None
        level = Level(self.options.pod_policy)
        async with self._turns.one():
            verdict = judge(controller.family, new, old, existing, self.clock.now().timestamp(), level)
        if verdict.refused or not changed(new, old) or not controller.caches.synced:
            return verdict
        refused = await faults_added(ServerValidation(self._api, controller.family), new, old)
        if refused:
            return Verdict(refused, verdict.warnings)
        doubts = await advance_warnings(self._api, controller.family, new, controller.caches.shared)
        # A warning and not a refusal: what the spec names may be created, or allowed, after the cluster.
        rights = PodRights(
            self._api, controller.family, labelled=self.options.pod_references == LABELLED, turns=self._turns
        )
        barred = tuple(refusal.message for refusal in await rights.of_spec(new, existing))
        return Verdict(warnings=(*verdict.warnings, *barred, *doubts))

    async def report(self, plural: str, key: Key) -> Database | Unknown | None:
        """Return what a cluster's database reports, by the plural of its kind; None if it is not known here."""
        kinds = {each.family.kind.resource.plural: each for each in self.controllers.values()}
        return await kinds[plural].report(key) if plural in kinds else None

    async def speed(self, plural: str, key: Key) -> Speed:
        """Return how fast a cluster's database recovers copies; unknown values if that cannot be read."""
        kinds = {each.family.kind.resource.plural: each for each in self.controllers.values()}
        return await kinds[plural].speed(key) if plural in kinds else Speed()

    async def run(self) -> None:
        """Watch, campaign and work until cancelled or the lease is lost (raises LostLease)."""
        watching = ReflectorOptions(clock=self.clock, observer=self.metrics, rng=self.rng)
        async with asyncio.TaskGroup() as group:
            for reflector in self.objects.reflectors(self._api, watching):
                group.create_task(reflector.run())
            for controller in self.controllers.values():
                for reflector in controller.reflectors:
                    group.create_task(reflector.run())
            group.create_task(self.recorder.run())
            await self.objects.wait_synced()
            if self.options.leader_elect:
                group.create_task(self._lead())
                await self.election.wait_elected()
            self.metrics.leader.set(1)
            _log.info("working", version=__version__)
            for worker in (*self.controllers.values(), *self.companions):
                group.create_task(worker.run())

    async def stop(self) -> None:
        """Finish running work within the grace period, and write the last events."""
        grace = self.options.grace_seconds
        await asyncio.gather(*(worker.stop(grace) for worker in (*self.controllers.values(), *self.companions)))
        await self.recorder.close()

    async def _lead(self) -> None:
        await self.election.run(lambda: None)
        raise LostLease("the lease was lost")

    def fence(self) -> AbstractAsyncContextManager[None]:
        """Open a block for writes that need the lease; raises LostLease if the lease may end before the write does."""
        return self.election.fence(LEASE_MARGIN) if self.options.leader_elect else unfenced()
