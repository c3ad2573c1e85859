"""The controller of restart control: watches workloads that request it, and all objects that they may use.

A reconciliation reads the workload and what it uses live, compares it with the record on the workload, and writes the
record and the digest in one patch, under the version that was read. An operator that stops in between has written
nothing or everything.
"""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from stateward.api.values.settling import SETTLE_SECONDS
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import ApiError, Conflict, NotFound
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import BUDGETS
from stateward.kube.queue.event_pace import EventPace
from stateward.kube.queue.queue import WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.clock import Clock
from stateward.kube.timing.observers import Unobserved, WatchObserver
from stateward.operator.restarts.digestkey import digest_key, keep_key
from stateward.operator.restarts.sources import read_sources
from stateward.operator.restarts.turns import Turns
from stateward.operator.restarts.uses import Uses
from stateward.operator.restarts.views import (
    ANNOTATION_CONTROL,
    SOURCES,
    WORKLOADS,
    SourceView,
    Workload,
    WorkloadView,
)
from stateward.operator.runtime.failing import Failing, FailureGauge, Uncounted
from stateward.packages.format.trees import at, obj, text
from stateward.packages.plans.budgets import budgets_of, exhausted
from stateward.packages.plans.health import Health, health_of
from stateward.packages.plans.steps import LABEL_INSTALLATION
from stateward.packages.restarts.dependencies import PROVIDER_CLASS, Dependency, dependencies
from stateward.packages.restarts.digests import RootKey, digests_of
from stateward.packages.restarts.guards import Hold, Settling, hold, settling, too_large, too_many, touched
from stateward.packages.restarts.restarts import ANNOTATION_RECORD, Verdict, annotated, digest_in, judge, read_record
from stateward.planning.report.reconcile_failure import REASON

_log = structlog.get_logger(__name__)
CLASSES_SECONDS = 60.0
"""Seconds between reconciliations of a workload that uses SecretProviderClasses: few clusters serve them, so they are
not watched.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of the controller.

    `namespace` has its key; `settle` is in seconds, and so is `classes`, the interval for workloads that use
    SecretProviderClasses; `rng` spreads retries.
    """

    api: Api
    recorder: EventRecorder
    clock: Clock
    namespace: str
    namespaces: tuple[str, ...] = ("",)
    workers: int = 8
    settle: float = SETTLE_SECONDS
    classes: float = CLASSES_SECONDS
    workloads: bool = True
    """Whether it restarts workloads; without, it only watches the data that clusters use."""
    rng: random.Random = field(default_factory=random.Random)
    gauge: FailureGauge = field(default_factory=Uncounted)
    watches: WatchObserver = field(default_factory=Unobserved)


class RestartControl:
    """Restarts the pods of workloads that request it when data that they use has changed."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._api = setting.api
        self._clock = setting.clock
        names = setting.namespaces
        self._workloads: dict[str, Store[WorkloadView]] = {
            kind: Store(kind, namespaces=names) for kind in WORKLOADS if setting.workloads
        }
        self._sources: dict[str, Store[SourceView]] = {kind: Store(kind, namespaces=names) for kind in SOURCES}
        self._uses = Uses[Workload]()
        self._settling: dict[Workload, Settling] = {}
        self._judged: dict[Workload, tuple[object, ...]] = {}
        self._touched: set[Workload] = set()
        self._said: dict[Workload, str] = {}
        self._turns = Turns(self._clock, self._is_complete)
        self._queue = WorkQueue[Workload](clock=self._clock, rng=setting.rng)
        self._pace = EventPace(self._queue, self._clock)
        self._workers = Workers(self._queue, self.reconcile, count=setting.workers, clock=self._clock)
        self._workers.tell(Failing("restarts", setting.gauge, self._clock, self._tell_failure))
        self._key: RootKey | None = None

    @property
    def sources(self) -> Mapping[str, Store[SourceView]]:
        """What is known of ConfigMaps and Secrets, by kind: filled while it runs."""
        return self._sources

    async def run(self) -> None:
        """Watch and work until cancelled, or until `stop`."""
        key = self._key = await self._digest_key()
        self._subscribe()
        options = ReflectorOptions(clock=self._clock, observer=self._setting.watches, rng=self._setting.rng)
        async with asyncio.TaskGroup() as group:
            watching: list[asyncio.Task[None]] = [
                group.create_task(reflector.run()) for reflector in self._reflectors(options)
            ]
            for store in (*self._workloads.values(), *self._sources.values()):
                await store.wait_synced()
            setting = self._setting
            keeping = keep_key(self._api, setting.namespace, key, self._clock)
            watching.append(group.create_task(keeping))
            await self._workers.run()
            for task in watching:
                task.cancel()

    async def _digest_key(self) -> RootKey:
        """Return the root key, after any wait: clusters are reconciled without it."""
        failures = 0
        while True:
            try:
                return await digest_key(self._api, self._setting.namespace)
            except (ApiError, ValueError) as error:
                failures += 1
                _log.warning("restart control waits for its key", namespace=self._setting.namespace, error=str(error))
                await self._clock.sleep(min(60.0, 2.0**failures))

    async def stop(self, grace: float) -> None:
        """Finish running work, within `grace` seconds."""
        await self._workers.stop(grace)

    def _reflectors(self, options: ReflectorOptions) -> Iterator[Reflector[Any]]:
        for namespace in self._setting.namespaces:
            for kind, store in self._workloads.items():
                yield Reflector(self._api, WORKLOADS[kind], Selection(namespace), store, options)
            for kind, source in SOURCES.items():
                yield Reflector(self._api, source, Selection(namespace), self._sources[kind], options)

    def _subscribe(self) -> None:
        for kind, store in self._workloads.items():
            store.subscribe(self._on_workload(kind))
        for kind, sources in self._sources.items():
            sources.subscribe(self._on_source(kind))

    def _on_workload(self, kind: str) -> Callable[[Delta[WorkloadView]], None]:
        def heard(delta: Delta[WorkloadView]) -> None:
            views = [view for view in (delta.old, delta.new) if view is not None]
            # A workload that no longer requests it is reconciled once more, to remove its record.
            if not any(view.controlled for view in views) or len({view.concerns for view in views}) < len(views):
                return
            self._pace.add(Workload(kind=kind, namespace=delta.key.namespace, name=delta.key.name))

        return heard

    def _on_source(self, kind: str) -> Callable[[Delta[SourceView]], None]:
        def heard(delta: Delta[SourceView]) -> None:
            now = self._clock.monotonic()
            for workload in self._uses.of((delta.key.namespace, kind, delta.key.name)):
                self._touched.add(workload)
                self._settling[workload] = touched(self._settling.get(workload), now)
                # Data that is read before the changes have settled would have to be read again.
                self._queue.add_after(workload, self._setting.settle)

        return heard

    async def reconcile(self, workload: Workload) -> float | None:
        """Reconcile one workload; returns the seconds until the next reconciliation. Raises ApiError, LostLease."""
        self._pace.begun(workload)
        if workload in self._touched:
            self._touched.discard(workload)
            self._judged.pop(workload, None)
        live = await self._read(workload)
        if live is None or not _asks(live):
            self._forget(workload)
            if live is not None:
                await self._remove_record(workload, live)
            return None
        used = dependencies(live)
        if (beyond := too_many(len(used))) is not None:
            self._uses.drop(workload)
            self._judged.pop(workload, None)
            self._say(workload, beyond)
            return None
        classes = any(found.kind == PROVIDER_CLASS for found in used)
        if self._judged.get(workload) == _record_of(live, used):
            return None  # It says what it said when it was judged, and no watch has told of its data since.
        # Recorded before anything is read: a change from now on requeues the workload.
        self._uses.put(workload, workload.namespace, used)
        self._judged.pop(workload, None)
        verdict = await self._judge(workload, live)
        held = self._held(workload, live, verdict) or await self._over_budget(workload, live, verdict)
        if held is not None:
            self._say(workload, held)
            return held.seconds
        written = False
        try:
            written = await self._write(workload, live, verdict)
        finally:
            self._turns.end(workload, written=written and verdict.restarts)
        if classes:
            return self._setting.classes
        if written and workload not in self._touched:
            self._judged[workload] = (verdict.record, verdict.digest, used)
        return None

    async def _tell_failure(self, workload: Workload, sentence: str) -> None:
        """Tell as an event on the workload that looking at it fails: its status is not Stateward's."""
        self._record(workload, Severity.WARNING, REASON, sentence)

    async def _read(self, workload: Workload) -> dict[str, Any] | None:
        try:
            live = await self._api.get(WORKLOADS[workload.kind].raw(), workload.key)
        except NotFound:
            return None
        going = at(live, "metadata", "deletionTimestamp") is not None
        return None if going else {**live, "apiVersion": "apps/v1", "kind": workload.kind}

    async def _remove_record(self, workload: Workload, live: dict[str, Any]) -> None:
        """Remove the record of a workload that no longer requests it, so that it is as new if it does so again.

        That of an installation is the installation's.
        """
        meta = obj(live["metadata"])
        if ANNOTATION_RECORD not in obj(meta.get("annotations")) or LABEL_INSTALLATION in obj(meta.get("labels")):
            return
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "annotations": {ANNOTATION_RECORD: None}}}
        try:
            await self._api.patch(WORKLOADS[workload.kind], workload.key, patch, kind=PatchKind.MERGE)
        except NotFound:
            return
        except Conflict:
            self._pace.add(workload)

    def _forget(self, workload: Workload) -> None:
        self._uses.drop(workload)
        self._settling.pop(workload, None)
        self._judged.pop(workload, None)
        self._said.pop(workload, None)

    async def _judge(self, workload: Workload, live: dict[str, Any]) -> Verdict:
        if self._key is None:
            raise RuntimeError("the key is read before the work begins")
        used = dependencies(live)
        objects = await read_sources(self._api, used, workload.namespace)
        key = self._key.of(workload.namespace)
        return judge(live, used, digests_of(used, objects, key), key)

    def _held(self, workload: Workload, live: dict[str, Any], verdict: Verdict) -> Hold | None:
        if beyond := too_large(verdict.record):
            return Hold("RestartSourcesTooMany", f"{beyond}; changes restart nothing", None)
        if not verdict.restarts:
            self._settling.pop(workload, None)
            return None
        now = self._clock.monotonic()
        changes = settling(self._settling.get(workload), verdict.record, now)
        self._settling[workload] = changes
        left = changes.left(now, self._setting.settle)
        if left > 0:
            return Hold("", "", left)
        annotations = obj(at(live, "metadata", "annotations"))
        return hold({name: text(value) for name, value in annotations.items()}, self._clock.now())

    async def _over_budget(self, workload: Workload, live: dict[str, Any], verdict: Verdict) -> Hold | None:
        """Return the budget that a restart waits for; raises ApiError if it is unknown whether there is one."""
        if not verdict.restarts:
            return None
        page = await self._api.list(BUDGETS.raw(), Selection(workload.namespace))
        return exhausted(live, page.items) or await self._turns.take(workload, budgets_of(live, page.items))

    async def _is_complete(self, workload: Workload) -> bool:
        """Return whether a restarted workload has its pods again, or is gone; raises ApiError."""
        try:
            live = await self._api.get(WORKLOADS[workload.kind].raw(), workload.key)
        except NotFound:
            return True
        return health_of({**live, "apiVersion": "apps/v1", "kind": workload.kind}).health is Health.HEALTHY

    async def _write(self, workload: Workload, live: dict[str, Any], verdict: Verdict) -> bool:
        """Write the workload's record; return whether the record is current now."""
        record = read_record(live)
        if record is not None and record.text() == verdict.record and digest_in(live) == verdict.digest:
            return True
        patch = annotated({"apiVersion": "apps/v1", "kind": workload.kind}, verdict)
        patch["metadata"] |= {"resourceVersion": at(live, "metadata", "resourceVersion")}
        try:
            await self._api.patch(WORKLOADS[workload.kind], workload.key, patch, kind=PatchKind.MERGE)
        except (Conflict, NotFound):
            self._pace.add(workload)  # Somebody was faster: look again at what it is now.
            return False
        self._settling.pop(workload, None)
        self._said.pop(workload, None)
        if verdict.restarts:
            because = ", ".join(verdict.because)
            _log.info("restart", workload=str(workload), because=because)
            self._record(workload, Severity.NORMAL, "Restart", f"pods restart because of {because}")
        return True

    def _say(self, workload: Workload, held: Hold) -> None:
        if held.reason and self._said.get(workload) != held.message:
            self._said[workload] = held.message
            self._record(workload, Severity.WARNING, held.reason, held.message)

    def _record(self, workload: Workload, severity: Severity, reason: str, note: str) -> None:
        view = self._workloads[workload.kind].get(ObjectKey(workload.namespace, workload.name))
        if view is not None:
            target = about(WORKLOADS[workload.kind], view)
            self._setting.recorder.record(Occurrence(target, severity, reason, "RestartControl", note))


def _asks(live: dict[str, Any]) -> bool:
    """Return whether a workload requests restart control."""
    return text(at(live, "metadata", "annotations", ANNOTATION_CONTROL)).strip().lower() == "true"


def _record_of(live: dict[str, Any], used: frozenset[Dependency]) -> tuple[object, ...]:
    """Return a workload's record of its data and its uses: as long as these stay, so does the decision."""
    record = read_record(live)
    return (record.text() if record is not None else None, digest_in(live), used)
