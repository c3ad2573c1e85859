"""The clusters of an API server as a host of the page: watches keep them up to date."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, NoReturn, TypeVar

from stateward.api.kinds.cluster import Cluster
from stateward.cli.page.timeline import Seen
from stateward.cli.shared.session import Session
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.objects.resource import Selection
from stateward.kube.timing.background import in_background
from stateward.operator.objects.kinds import ClusterKind
from stateward.timeline.model import Timeline

R = TypeVar("R")
OPERATOR = "operator"
"""The name of the host in the operator's process, which reads databases less often than a user's own."""
PATIENCE = 30.0
"""Seconds for one plan or verb."""


class ServerHost:
    """Gives the page the clusters of a session. Open it with `opened`."""

    def __init__(self, session: Session, name: str, namespaces: Sequence[str], *, read_only: bool) -> None:
        self.name, self.read_only = name, read_only
        self.look_every = 15.0 if name == OPERATOR else 5.0
        self._session = session
        self._namespaces = tuple(namespaces)
        self._changed = asyncio.Event()
        self._stores: dict[str, Store[Cluster]] = {}
        self._reflectors: list[Reflector[Cluster]] = []
        self._of_kind: dict[str, list[Reflector[Cluster]]] = {}

    @property
    def clock(self) -> tuple[float, float]:
        """The time of the session."""
        return self._session.now(), 1.0

    @property
    def trouble(self) -> str:
        """What keeps the clusters from being up to date; a kind that is not installed is no trouble."""
        found = [each.trouble for each in self._reflectors if each.trouble and not each.missing]
        unreadable = sum(len(store.unreadable) for store in self._stores.values())
        if unreadable:
            found.append(f"{unreadable} clusters cannot be read; this program may be older than the CRDs")
        if self._reflectors and all(each.missing for each in self._reflectors):
            found.append("Stateward's CRDs are not installed there")
        if not found and not self._all_read():
            found.append("the clusters are being read")
        return "; ".join(dict.fromkeys(found))

    def clusters(self) -> Sequence[Cluster]:
        """Return the clusters of all kinds."""
        return [cluster for store in self._stores.values() for cluster in store.all()]

    async def changed(self) -> None:
        """Wait for a change of a cluster."""
        await self._changed.wait()
        self._changed.clear()

    async def work(self, do: Callable[[Session], Awaitable[R]]) -> R:
        """Return the result of work with the session; raise TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            return await do(self._session)

    def extra(self) -> None:
        """Return nothing: this host shows clusters only."""

    def timeline(self, ref: str) -> tuple[Seen, Timeline] | None:
        """Return None: the page keeps the timelines."""
        del ref

    async def command(self, name: str) -> None:
        """Refuse each command."""
        raise KeyError(name)

    def follow(self, kind: ClusterKind) -> list[Coroutine[Any, Any, NoReturn]]:
        """Return what keeps the clusters of a kind up to date, one for each namespace."""
        store = Store[Cluster](kind.resource.plural, namespaces=self._namespaces)
        store.subscribe(lambda _: self._changed.set())
        self._stores[kind.engine] = store
        options = ReflectorOptions(clock=self._session.clock)
        made = [
            Reflector(self._session.api, kind.resource, Selection(name), store, options) for name in self._namespaces
        ]
        self._reflectors += made
        self._of_kind[kind.engine] = made
        return [reflector.run() for reflector in made]

    def _all_read(self) -> bool:
        return all(
            store.has_synced or any(reflector.missing for reflector in self._of_kind[engine])
            for engine, store in self._stores.items()
        )


@asynccontextmanager
async def opened(
    session: Session, name: str, *, read_only: bool, namespaces: Sequence[str] = ()
) -> AsyncGenerator[ServerHost]:
    """Give a host that follows the clusters of some namespaces, by default of the session's (empty: all)."""
    host = ServerHost(session, name, namespaces or (session.namespace,), read_only=read_only)
    async with in_background(*(work for kind in session.kinds for work in host.follow(kind))):
        yield host
