"""The databases of search clusters, for other controllers.

They are reached as the last round of their cluster reached them. Every process reads them for previews, without a
lease.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.engines.connection.base import Target, UnreachableError
from stateward.engines.search.database.driver import SearchEngine
from stateward.engines.search.database.session import Session
from stateward.kube.client.client import Api
from stateward.kube.election.fence import Fence
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.operator.clusters.controller import Controller
from stateward.operator.objects.waves import Turn, turn
from stateward.planning.model.database import Unknown

T = TypeVar("T")


class SearchDatabases:
    """The clusters of several controllers, by their kind."""

    def __init__(self, controllers: Mapping[str, Controller]) -> None:
        self._controllers = {each.family.kind.resource.kind: each for each in controllers.values()}

    def cluster(self, kind: str, key: Key) -> Cluster | None:
        """Return a cluster from the cache; None if the cache has none."""
        return self._controllers[kind].caches.clusters.get(key) if kind in self._controllers else None

    def _engine(self, kind: str) -> SearchEngine:
        engine = self._controllers[kind].family.engine
        if not isinstance(engine, SearchEngine):
            raise UnreachableError(f"{kind} has no such objects")
        return engine


class ReachedDatabases(SearchDatabases):
    """The same clusters, reached as their last round did, for the process that holds the lease."""

    def __init__(self, api: Api, controllers: Mapping[str, Controller], fence: Fence, wave: str) -> None:
        super().__init__(controllers)
        self._api = api
        self._fence = fence
        self._wave = wave

    def managed(self, cluster: Cluster | None) -> bool:
        """Return whether this operator manages a cluster; what has no cluster belongs to the operator of no wave."""
        return not self._wave if cluster is None else turn(cluster, self._wave) is Turn.MANAGE

    async def gone(self, kind: str, key: Key) -> bool:
        """Return whether the API server, read live, has no such cluster; raises ApiError."""
        try:
            await self._api.get(self._controllers[kind].family.kind.resource, key)
        except NotFound:
            return True
        return False

    def target(self, kind: str, key: Key) -> Target | None:
        """Return how the database was reached last; None if this process has not reached it yet."""
        return self._controllers[kind].target(key)

    async def ask(self, kind: str, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run `work` at one node of the cluster, while this process holds the lease; raises EngineError, LostLease."""
        engine = self._engine(kind)
        async with self._fence():
            return await engine.ask(target, work)


class ReadDatabases(SearchDatabases):
    """The same clusters, for reads without the lease: in every process, and without anything that writes."""

    async def way(self, kind: str, key: Key) -> Target | Unknown | None:
        """Return how the database is reached, or why that is not known; None if this operator does not manage it."""
        return await self._controllers[kind].way(key) if kind in self._controllers else None

    async def read(self, kind: str, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run `work` at one node of the cluster, which gets only reads; raises EngineError."""
        return await self._engine(kind).read(replace(target, proves=False), work)
