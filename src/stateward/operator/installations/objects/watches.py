"""Watches the objects of installations: for their health while a plan runs, and for drift otherwise.

The kinds are known only from the installations themselves, so watches start and end with them.
"""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.objects.resource import Selection
from stateward.operator.installations.objects.kinds import Kinds, Raw
from stateward.operator.installations.objects.views import GroupKind, by_set, placed_set
from stateward.packages.plans.steps import LABEL_PART_OF, set_id

PATIENCE = 60.0
"""Seconds for which a kind is waited for that cannot be watched yet."""
UNSERVED = 10.0
"""Seconds until the server is asked again for a kind that it has just not served."""
_log = structlog.get_logger(__name__)


class Watches:
    """One cache of metadata for each kind of object that some installation has created."""

    def __init__(
        self,
        api: Api,
        kinds: Kinds,
        namespaces: tuple[str, ...],
        options: ReflectorOptions,
        hear: Callable[[Key], None],
    ) -> None:
        self._api = api
        self._kinds = kinds
        self._namespaces = namespaces
        self._options = options
        self._hear = hear
        self._stores: dict[GroupKind, Store[PartialObject]] = {}
        self._tasks: dict[GroupKind, asyncio.Task[None]] = {}
        self._users: dict[Key, frozenset[GroupKind]] = {}
        self._sets: dict[str, Key] = {}
        self._since: dict[GroupKind, float] = {}

    def use(self, installation: Key, kinds: frozenset[GroupKind], group: asyncio.TaskGroup) -> None:
        """Watch kinds for an installation, and stop the watches that none needs any longer."""
        name = set_id(installation.name, installation.namespace)
        if kinds:
            self._users[installation], self._sets[name] = kinds, installation
        else:
            self._users.pop(installation, None)
            self._sets.pop(name, None)
        wanted = frozenset[GroupKind]().union(*self._users.values())
        for kind in sorted(wanted - self._tasks.keys()):
            self._since[kind] = self._options.clock.monotonic()
            self._tasks[kind] = group.create_task(self._watch(kind))
        for kind in sorted(self._tasks.keys() - wanted):
            self._tasks.pop(kind).cancel()
            self._stores.pop(kind, None)

    def stop(self) -> None:
        """Stop all watches."""
        for task in self._tasks.values():
            task.cancel()

    def of(self, installation: Key, kinds: Iterable[GroupKind]) -> dict[GroupKind, tuple[PartialObject, ...]] | None:
        """Return the objects of an installation by kind; None until all kinds are known.

        A kind that cannot be watched, perhaps for missing rights, is left out after a minute: the others are still
        maintained.
        """
        found: dict[GroupKind, tuple[PartialObject, ...]] = {}
        for kind in sorted(kinds):
            store = self._stores.get(kind)
            if store is None or not store.has_synced:
                if self._options.clock.monotonic() - self._since.get(kind, 0.0) > PATIENCE:
                    continue
                return None
            found[kind] = _of_installation(store, installation)
        return found

    def find(self, kind: GroupKind, key: Key) -> PartialObject | None:
        """Return the last observed state of an object of a set; None if it is unknown."""
        store = self._stores.get(kind)
        return store.get(key) if store is not None and store.has_synced and key not in store.unreadable else None

    def all_of(
        self, installation: Key, kinds: Iterable[GroupKind]
    ) -> dict[GroupKind, tuple[PartialObject, ...]] | None:
        """Return the objects of an installation by kind; None if any kind is unknown, however long it takes."""
        stores = {kind: self._stores.get(kind) for kind in kinds}
        known = {kind: s for kind, s in stores.items() if s is not None and s.has_synced and not s.unreadable}
        if known.keys() != stores.keys():
            return None
        return {kind: _of_installation(store, installation) for kind, store in known.items()}

    async def _watch(self, kind: GroupKind) -> None:
        while True:
            await self._follow(kind, await self._resource(kind))
            # A CRD no longer has this version, or is gone: what its cache shows may be of any age.
            _log.info("a watched kind is not served any longer", kind=".".join(kind))
            self._stores.pop(kind, None)
            self._kinds.forget(kind[0])
            self._since[kind] = self._options.clock.monotonic()
            await self._options.clock.sleep(UNSERVED)

    async def _resource(self, kind: GroupKind) -> Raw:
        delay, told = 1.0, ""
        while True:
            try:
                return await self._kinds.preferred(*kind)
            except ApiError as error:
                if told != str(error):
                    told = str(error)
                    _log.info("cannot watch a kind yet", kind=".".join(kind), error=told)
                await self._options.clock.sleep(delay)
                delay = min(60.0, delay * 2)

    async def _follow(self, kind: GroupKind, resource: Raw) -> None:
        """Feed a cache of the kind until the server does not serve this version of it."""
        spaces = self._namespaces if resource.namespaced else ("",)
        store: Store[PartialObject] = Store(resource.plural, namespaces=spaces, indexes={"set": by_set})
        store.subscribe(self._heard)
        self._stores[kind] = store
        async with asyncio.TaskGroup() as group:
            feeding: list[asyncio.Task[None]] = []
            for namespace in spaces:
                selection = Selection(namespace, labels=LABEL_PART_OF)
                reflector = Reflector(self._api, resource.metadata_only(), selection, store, self._options)
                feeding.append(group.create_task(reflector.run_while_served()))
            await asyncio.wait(feeding, return_when=asyncio.FIRST_COMPLETED)
            for task in feeding:
                task.cancel()

    def _heard(self, delta: Delta[PartialObject]) -> None:
        for body in (delta.old, delta.new):
            if body is None:
                continue
            installation = self._sets.get(body.metadata.labels.get(LABEL_PART_OF, ""))
            if installation is not None and body.metadata.namespace in ("", installation.namespace):
                self._hear(installation)


def _of_installation(store: Store[PartialObject], installation: Key) -> tuple[PartialObject, ...]:
    """Return the objects of an installation in its own namespace, and in none.

    The disaster this prevents: a tenant gives its objects the label of an installation of another namespace, which can
    be guessed. They count as objects of that one, and it waits for rights in the tenant's namespace.
    """
    name = set_id(installation.name, installation.namespace)
    homes = (installation.namespace, "")
    return tuple(body for home in homes for body in store.indexed("set", placed_set(home, name)))
