"""Follows one cluster, or all of a selection, by watches, and shows every new version."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import NoReturn

from stateward.api.kinds.cluster import Cluster
from stateward.cli.shared.find import in_order
from stateward.cli.shared.session import Session
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.timing.background import in_background
from stateward.operator.objects.kinds import ClusterKind

Show = Callable[[Cluster], None]


class Following:
    """A watch on one cluster; run `run` until the cluster is deleted."""

    def __init__(self, session: Session, kind: ClusterKind, key: Key) -> None:
        self._key = key
        self._store: Store[Cluster] = Store(kind.resource.plural, namespaces=(key.namespace,))
        selection = Selection(key.namespace, fields=f"metadata.name={key.name}")
        options = ReflectorOptions(clock=session.clock)
        self._reflector = Reflector(session.api, kind.resource, selection, self._store, options)

    @property
    def trouble(self) -> str:
        """What blocks updates, in words; empty if nothing does."""
        return self._reflector.trouble

    async def run(self, show: Show) -> None:
        """Show the cluster now and after every change; return when it is deleted."""
        changed = asyncio.Event()
        self._store.subscribe(lambda _: changed.set())
        async with in_background(self._reflector.run()) as (feeding,):
            await first_of(feeding, self._store.wait_synced())
            while (cluster := self._store.get(self._key)) is not None:
                changed.clear()
                show(cluster)
                await first_of(feeding, changed.wait())


class FollowingAll:
    """Watches on all clusters of a selection, of the kinds that the server has; run `run` until it is cancelled."""

    def __init__(self, session: Session, kinds: Iterable[ClusterKind], selection: Selection) -> None:
        self._stores: list[Store[Cluster]] = []
        self._reflectors: list[Reflector[Cluster]] = []
        for kind in kinds:
            store = Store[Cluster](kind.resource.plural, namespaces=(selection.namespace,))
            options = ReflectorOptions(clock=session.clock)
            self._stores.append(store)
            self._reflectors.append(Reflector(session.api, kind.resource, selection, store, options))

    @property
    def trouble(self) -> str:
        """What blocks updates, in words; empty if nothing does."""
        return next((each.trouble for each in self._reflectors if each.trouble), "")

    async def run(self, show: Callable[[list[Cluster]], None]) -> NoReturn:
        """Show the clusters by namespace and name, now and after every change."""
        changed = asyncio.Event()
        for store in self._stores:
            store.subscribe(lambda _: changed.set())
        async with in_background(*(reflector.run() for reflector in self._reflectors)):
            for store in self._stores:
                await store.wait_synced()
            while True:
                changed.clear()
                show(in_order(cluster for store in self._stores for cluster in store.all()))
                await changed.wait()


async def first_of(feeding: "asyncio.Task[NoReturn]", news: Coroutine[object, object, object]) -> None:
    """Wait for news; if the watch ends first, raise its error, because no news will come."""
    async with in_background(news) as (waiting,):
        await asyncio.wait({feeding, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if feeding.done():
            feeding.result()
