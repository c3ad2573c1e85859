"""The controller of installations: watches them, the packages, and the objects they created, and reconciles each.

A reconciliation reads the installation live, decides (`packages/decision`) and continues its plan as far as possible.
The decision is written before anything is done, and the result before anything else is. The successor of an operator
that stops in between repeats the last step with the same effect.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import structlog

from stateward.api.kinds.installation import Installation
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.resource import Selection
from stateward.kube.queue.event_pace import EventPace
from stateward.kube.queue.queue import WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.clock import Clock
from stateward.kube.timing.observers import Unobserved, WatchObserver
from stateward.operator.installations.context import SharedTools
from stateward.operator.installations.execution.background import Background, WorkerPool
from stateward.operator.installations.execution.library import Library
from stateward.operator.installations.execution.rendered_steps import RenderedSteps
from stateward.operator.installations.execution.service_account import Accounts, own_user
from stateward.operator.installations.execution.tasks import ExecAs, no_exec_as
from stateward.operator.installations.objects.applier import ObjectTools
from stateward.operator.installations.objects.claims import names_in
from stateward.operator.installations.objects.kinds import Kinds, ServedKinds
from stateward.operator.installations.objects.views import INSTALLATIONS, kinds_in
from stateward.operator.installations.objects.watches import Watches
from stateward.operator.installations.objects.write_memory import WriteMemory
from stateward.operator.installations.reconcile import reconcile, tell_failure
from stateward.operator.restarts.digestkey import digest_key
from stateward.operator.runtime.failing import Failing, FailureGauge, Uncounted
from stateward.operator.runtime.traces import span
from stateward.packages.restarts.digests import RootKey

_log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of the controller.

    `namespace` has the key of digests, `kinds` finds kinds (None: the API server is asked), `execute` runs commands in
    pods as a user, `accounts` determines the user (never this process itself), `aside` does work that takes much
    processor time, `rng` spreads retries, `gauge` shows failures, `image` is the operator's own.
    """

    api: Api
    recorder: EventRecorder
    clock: Clock
    namespace: str
    namespaces: tuple[str, ...] = ("",)
    workers: int = 8
    kinds: Kinds | None = None
    execute: ExecAs = no_exec_as
    accounts: Accounts = field(default_factory=Accounts)
    background: Background = field(default_factory=WorkerPool)
    rng: random.Random = field(default_factory=random.Random)
    gauge: FailureGauge = field(default_factory=Uncounted)
    watches: WatchObserver = field(default_factory=Unobserved)
    image: str = ""


class InstallationControl:
    """Carries out the plans of all installations."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._clock = setting.clock
        self._kinds = setting.kinds or ServedKinds(setting.api, setting.clock)
        self._options = ReflectorOptions(clock=self._clock, observer=setting.watches, rng=setting.rng)
        self._installations: Store[Installation] = Store("installations", namespaces=setting.namespaces)
        self._library = Library(setting.api, setting.namespaces, setting.background)
        self._queue = WorkQueue[ObjectKey](clock=self._clock, rng=setting.rng)
        self._pace = EventPace(self._queue, self._clock)
        self._watches = Watches(setting.api, self._kinds, setting.namespaces, self._options, self._pace.add)
        self._memory = WriteMemory()
        self._workers = Workers(self._queue, self.reconcile, count=setting.workers, clock=self._clock)
        self._workers.tell(Failing("installations", setting.gauge, self._clock, self._tell_failure))
        self._shared: SharedTools | None = None

    async def run(self) -> None:
        """Watch and work until cancelled, or until `stop`."""
        key = await self._patiently("installations wait for the key of digests", self._key)
        own = await self._patiently("installations wait until the operator knows its own account", self._own_user)
        accounts = replace(self._setting.accounts, refused=self._setting.accounts.refused | {own})
        tools = ObjectTools(self._setting.api, self._kinds, key, names_in(self._installations))
        self._shared = SharedTools(
            tools,
            self._library,
            self._watches,
            self._memory,
            self._installations,
            self._setting.recorder,
            self._clock,
            RenderedSteps(self._setting.background),
            self._setting.background,
            self._setting.execute,
            accounts,
            self._setting.image,
        )
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(reflector.run()) for reflector in self._reflectors()]
            await self._installations.wait_synced()
            await self._library.wait_synced()
            self._installations.subscribe(self._on_installation(group))
            for store in (self._library.packages, self._library.shared):
                store.subscribe(self._on_package)
            await self._workers.run()
            self._watches.stop()
            for task in watching:
                task.cancel()

    async def stop(self, grace: float) -> None:
        """Finish running work, within `grace` seconds."""
        await self._workers.stop(grace)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one installation; returns the seconds until the next reconciliation. Raises ApiError, LostLease."""
        if self._shared is None:
            raise RuntimeError("the key of digests is read before the work begins")
        self._pace.begun(key)
        with span("reconcile", kind=INSTALLATIONS.kind, namespace=key.namespace, name=key.name):
            return await reconcile(self._shared, key)

    async def _tell_failure(self, key: ObjectKey, sentence: str) -> None:
        """Write into the status that rounds fail; raises ApiError, LostLease."""
        if self._shared is not None:
            await tell_failure(self._shared, key, sentence)

    def _reflectors(self) -> list[Reflector[Any]]:
        api, options = self._setting.api, self._options
        mine: list[Reflector[Any]] = [
            Reflector(api, INSTALLATIONS, Selection(namespace), self._installations, options)
            for namespace in self._setting.namespaces
        ]
        return [*mine, *self._library.reflectors(options)]

    def _on_installation(self, group: asyncio.TaskGroup) -> Callable[[Delta[Installation]], None]:
        def heard(delta: Delta[Installation]) -> None:
            kinds = kinds_in(delta.new.metadata.annotations) if delta.new is not None else frozenset[tuple[str, str]]()
            self._watches.use(delta.key, kinds, group)
            self._pace.add(delta.key)

        return heard

    def _on_package(self, delta: Delta[Any]) -> None:
        for installation in self._installations.all():
            meta = installation.metadata
            if delta.key.namespace in ("", meta.namespace):
                self._pace.add(ObjectKey(meta.namespace, meta.name))

    async def _key(self) -> RootKey:
        return await digest_key(self._setting.api, self._setting.namespace)

    async def _own_user(self) -> str:
        return await own_user(self._setting.api)

    async def _patiently(self, without: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Return an answer, after any wait: clusters are reconciled in the meantime."""
        failures = 0
        while True:
            try:
                return await ask()
            except (ApiError, ValueError) as error:
                failures += 1
                _log.warning(without, namespace=self._setting.namespace, error=str(error))
                await self._clock.sleep(min(60.0, 2.0**failures))
