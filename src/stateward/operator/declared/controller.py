"""The controller of declared objects: watches them, their clusters and their Secrets, and reconciles each."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search_object import SearchObject
from stateward.engines.search.declared.preview import ObjectPreview
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.resource import Selection
from stateward.kube.queue.queue import WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.clock import Clock
from stateward.operator.declared.database import Databases
from stateward.operator.declared.reconcile import RETRY_SECONDS, Reconciliation, Tools, reconcile
from stateward.operator.declared.reporting import is_ready
from stateward.operator.declared.views import (
    BY_CLUSTER,
    BY_SECRET,
    SEARCH_OBJECTS,
    by_cluster,
    by_secret,
    cluster_id,
)
from stateward.operator.objects.caches import Caches
from stateward.operator.restarts.digestkey import digest_key
from stateward.operator.restarts.views import SourceView
from stateward.operator.runtime.failing import Failing, FailureGauge, Uncounted

LAST = "9999-12-31T23:59:59Z"
"""Time of creation of an object that does not exist yet: all others are older."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of the controller; `namespace` has the key of digests."""

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
    workers: int = 4
    rng: random.Random = field(default_factory=random.Random)
    gauge: FailureGauge = field(default_factory=Uncounted)


class DeclaredControl:
    """Keeps all declared objects."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        indexes = {BY_CLUSTER: by_cluster, BY_SECRET: by_secret}
        self.objects: Store[SearchObject] = Store("searchobjects", indexes=indexes, namespaces=setting.namespaces)
        self._queue = WorkQueue[ObjectKey](clock=setting.clock, rng=setting.rng)
        self._workers = Workers(self._queue, self.reconcile, count=setting.workers, clock=setting.clock)
        self._workers.tell(Failing("searchobjects", setting.gauge, setting.clock, self._tell_failure))
        self._tools: Tools | None = None
        self._working = False

    async def run(self) -> None:
        """Watch and work until cancelled, or until `stop`."""
        setting, options = self._setting, ReflectorOptions(clock=self._setting.clock, rng=self._setting.rng)
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(
                    Reflector(setting.api, SEARCH_OBJECTS, Selection(namespace), self.objects, options).run()
                )
                for namespace in setting.namespaces
            ]
            await self.objects.wait_synced()
            self.objects.subscribe(self._on_object)
            for caches in setting.kinds:
                caches.clusters.subscribe(self._on_cluster(caches.kind.resource.kind))
            if setting.secrets is not None:
                setting.secrets.subscribe(self._on_secret)
            self._working = True
            await self._workers.run()
            for task in watching:
                task.cancel()

    async def stop(self, grace: float) -> None:
        """Finish running work, within `grace` seconds."""
        await self._workers.stop(grace)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one object; returns the seconds until the next time. Raises ApiError, LostLease, ValueError."""
        return await reconcile(await self._ready_tools(), key)

    async def preview(self, offered: SearchObject) -> ObjectPreview | None:
        """Return what an offered object would do to the database; None if this process is not the one that works.

        Raises ApiError, LostLease.
        """
        if not self.objects.has_synced or not self._working:
            return None
        known = await self._known(key_of(offered))
        newest = replace(offered, metadata=replace(offered.metadata, creation_timestamp=LAST))
        live = newest if known is None else replace(known, spec=offered.spec)
        return await Reconciliation(await self._ready_tools(), live).preview()

    async def _known(self, key: ObjectKey) -> SearchObject | None:
        try:
            return await self._setting.api.get(SEARCH_OBJECTS, key)
        except NotFound:
            return None

    async def _ready_tools(self) -> Tools:
        if self._tools is None:
            setting = self._setting
            key = await digest_key(setting.api, setting.namespace)
            self._tools = Tools(setting.api, setting.databases, self.objects, setting.recorder, setting.clock, key)
        return self._tools

    async def _tell_failure(self, key: ObjectKey, sentence: str) -> None:
        """Write into the status that reconciliations fail; raises ApiError, LostLease."""
        try:
            live = await self._setting.api.get(SEARCH_OBJECTS, key)
        except NotFound:
            return
        await Reconciliation(await self._ready_tools(), live).fail(sentence)

    def _on_object(self, delta: Delta[SearchObject]) -> None:
        self._queue.add(delta.key)
        changed = delta.new or delta.old
        if changed is None:
            return
        for other in self.objects.indexed(BY_CLUSTER, cluster_id(changed)):
            if not is_ready(other.status) and key_of(other) != delta.key:
                self._queue.add_after(key_of(other), 1.0)

    def _on_cluster(self, kind: str) -> Callable[[Delta[Cluster]], None]:
        def heard(delta: Delta[Cluster]) -> None:
            if _concerns(delta.old) == _concerns(delta.new):
                return
            for found in self.objects.indexed(BY_CLUSTER, f"{delta.key.namespace}/{kind}/{delta.key.name}"):
                self._queue.add_after(key_of(found), RETRY_SECONDS / 10)

        return heard

    def _on_secret(self, delta: Delta[SourceView]) -> None:
        for found in self.objects.indexed(BY_SECRET, f"{delta.key.namespace}/{delta.key.name}"):
            self._queue.add(key_of(found))


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
    }
