"""Watches PoolScales, and writes their status when they or their clusters change."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.scaling.pool_scale import PoolScale, PoolScaleStatus
from stateward.api.kinds.search import SearchCluster
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, key_of
from stateward.kube.objects.resource import Selection
from stateward.kube.queue.event_pace import EventPace
from stateward.kube.queue.queue import WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.clock import Clock
from stateward.kube.timing.observers import Unobserved, WatchObserver
from stateward.operator.declared.reporting import Outcome, Stage, reported
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.pool_scales import POOL_SCALES, cluster_id, in_charge
from stateward.operator.runtime.failing import Failing, FailureGauge, Uncounted
from stateward.operator.scaling.report import report
from stateward.planning.report.reconcile_failure import REASON

RESYNC_SECONDS = 300.0
"""Seconds until a PoolScale is compared again without an event."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the control works with; it feeds `scales`, from which clusters take their numbers."""

    api: Api
    clock: Clock
    scales: Store[PoolScale]
    kinds: Sequence[Caches]
    namespaces: tuple[str, ...] = ("",)
    rng: random.Random = field(default_factory=random.Random)
    gauge: FailureGauge = field(default_factory=Uncounted)
    watches: WatchObserver = field(default_factory=Unobserved)


class ScalingControl:
    """Keeps the status of all PoolScales."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._kinds = {caches.kind.resource.kind: caches for caches in setting.kinds}
        self._queue = WorkQueue[Key](clock=setting.clock, rng=setting.rng)
        self._pace = EventPace(self._queue, setting.clock)
        self._workers = Workers(self._queue, self.reconcile, count=1, clock=setting.clock)
        self._workers.tell(Failing(POOL_SCALES.plural, setting.gauge, setting.clock, self._tell_failure))

    async def run(self) -> None:
        """Watch and work until cancelled, or until `stop`."""
        setting, options = (
            self._setting,
            ReflectorOptions(clock=self._setting.clock, observer=self._setting.watches, rng=self._setting.rng),
        )
        setting.scales.subscribe(self._on_scale)
        for kind, caches in self._kinds.items():
            caches.clusters.subscribe(self._on_cluster(kind))
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(Reflector(setting.api, POOL_SCALES, Selection(each), setting.scales, options).run())
                for each in setting.namespaces
            ]
            await self._workers.run()
            for task in watching:
                task.cancel()

    async def stop(self, grace: float) -> None:
        """Finish running work, within `grace` seconds."""
        await self._workers.stop(grace)

    async def reconcile(self, key: Key) -> float | None:
        """Write the status of one PoolScale; returns the seconds until the next time. Raises ApiError, LostLease."""
        self._pace.begun(key)
        scale = self._setting.scales.get(key)
        if scale is None or scale.metadata.deletion_timestamp is not None:
            return None
        caches = self._kinds.get(scale.spec.cluster.kind.value)
        if caches is None or not caches.clusters.has_synced:
            return RESYNC_SECONDS  # Not known is not missing.
        cluster = caches.clusters.get(Key(key.namespace, scale.spec.cluster.name))
        if cluster is not None and not self._is_mine(caches, cluster):
            return RESYNC_SECONDS
        mine = cluster if isinstance(cluster, SearchCluster) else None
        chosen = in_charge(
            self._of(scale.spec.cluster.kind.value, key.namespace, scale.spec.cluster.name), scale.spec.pool
        )
        await self._write(scale, report(scale, mine, chosen, caches.kind.engine, self._now()))
        return RESYNC_SECONDS

    def _is_mine(self, caches: Caches, cluster: Cluster) -> bool:
        return any(each.metadata.uid == cluster.metadata.uid for each in caches.managed())

    async def _write(self, scale: PoolScale, status: PoolScaleStatus) -> None:
        if status == scale.status:
            return
        meta = scale.metadata
        exact = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        # A field that is left out has its default: without null, a merge would leave there what was written before.
        whole = {each.encode_name: None for each in msgspec.structs.fields(status)} | msgspec.to_builtins(status)
        patch: dict[str, Any] = {"metadata": exact, "status": whole}
        key, api = key_of(scale), self._setting.api
        with suppress(NotFound):
            written = await api.patch(POOL_SCALES, key, patch, kind=PatchKind.MERGE, subresource="status")
            self._setting.scales.wrote(written)

    async def _tell_failure(self, key: Key, sentence: str) -> None:
        scale = self._setting.scales.get(key)
        if scale is not None:
            outcome = Outcome(Stage.WORKING, REASON, sentence)
            await self._write(scale, reported(scale.status, outcome, scale.metadata.generation, self._now()))

    def _of(self, kind: str, namespace: str, name: str) -> list[PoolScale]:
        return list(self._setting.scales.indexed("cluster", cluster_id(kind, namespace, name)))

    def _on_scale(self, delta: Delta[PoolScale]) -> None:
        self._pace.add(delta.key)
        for scale in (delta.old, delta.new):
            if scale is not None:  # Others of the same pool may be in charge now.
                for other in self._of(scale.spec.cluster.kind.value, delta.key.namespace, scale.spec.cluster.name):
                    self._pace.add(key_of(other))

    def _on_cluster(self, kind: str) -> Callable[[Delta[Cluster]], None]:
        def heard(delta: Delta[Cluster]) -> None:
            for scale in self._of(kind, delta.key.namespace, delta.key.name):
                self._pace.add(key_of(scale))

        return heard

    def _now(self) -> float:
        return self._setting.clock.now().timestamp()
