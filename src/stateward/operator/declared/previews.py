"""What declared resources would change in their databases, for `plan`: by reads alone, and without the lease.

So every process of the operator can tell it. What is declared is read live; the databases are reached as their readers
do. Neither the API server nor a database gets a write from here: both clients refuse to send one.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.engines.connection.base import Target
from stateward.engines.search.database.session import Session
from stateward.engines.search.declared.preview import ObjectPreview
from stateward.kube.cache.listing import list_all
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.election.fence import FencedApi, read_only
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.queue.locks import Locks
from stateward.kube.timing.clock import Clock
from stateward.operator.declared.metrics import Unmeasured
from stateward.operator.declared.reconcile import ObjectReconciliation
from stateward.operator.declared.reporting import Outcome, Stage
from stateward.operator.declared.resource import StopError
from stateward.operator.declared.snapshots.restore import RestoreReconciliation
from stateward.operator.declared.tools import Tools
from stateward.operator.declared.users import UserReconciliation
from stateward.operator.declared.views import BY_CLUSTER, SEARCH_OBJECTS, SEARCH_RESTORES, SEARCH_USERS, by_cluster
from stateward.operator.restarts.digestkey import known_key
from stateward.packages.restarts.digests import RootKey
from stateward.planning.model.database import Unknown

T = TypeVar("T")
LAST = "9999-12-31T23:59:59Z"
"""Time of creation of an object that does not exist yet: all others are older."""
ELSEWHERE = Outcome(
    Stage.WORKING, "ManagedElsewhere", "the operator of a wave manages the cluster; this one cannot tell what changes"
)


class ReadableDatabases(Protocol):
    """The clusters that this operator manages, and reads of their databases."""

    def cluster(self, kind: str, key: ObjectKey) -> Cluster | None:
        """Return a cluster from the cache; None if the cache has none."""
        ...

    async def way(self, kind: str, key: ObjectKey) -> Target | Unknown | None:
        """Return how the database is reached, or why that is not known; None if this operator does not manage it."""
        ...

    async def read(self, kind: str, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run `work` at one node of the cluster, which gets only reads; raises EngineError."""
        ...


class Previewed(Protocol):
    """A reconciliation that can say what it would do."""

    async def preview(self, before: Any) -> ObjectPreview:
        """Return what it would do instead of what the spec `before` does, if there is one; it writes nothing.

        Raises ApiError.
        """
        ...


@dataclass(frozen=True)
class OneDatabase:
    """The database of one cluster, as a reconciliation asks for it; `why` says why it cannot be read."""

    databases: ReadableDatabases
    found: Target | None
    why: Outcome | None = None

    def cluster(self, kind: str, key: ObjectKey) -> Cluster | None:
        """Return the cluster from the cache; raises StopError if this process knows too little."""
        if self.why is not None:
            raise StopError(self.why)
        return self.databases.cluster(kind, key)

    def managed(self, cluster: Cluster | None) -> bool:
        """Return whether this operator manages the cluster."""
        return cluster is not None and self.found is not None

    async def gone(self, kind: str, key: ObjectKey) -> bool:  # noqa: ARG002 - nothing is removed in a preview
        """Return False: a preview does not know it."""
        return False

    def target(self, kind: str, key: ObjectKey) -> Target | None:  # noqa: ARG002 - there is only one
        """Return how the database is reached; None if it is not known."""
        return self.found

    async def ask(self, kind: str, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run `work` at one node, which gets only reads; raises EngineError."""
        return await self.databases.read(kind, target, work)


_KINDS: Mapping[str, tuple[Resource[Any], Callable[[Any, Any], Previewed]]] = {
    SEARCH_OBJECTS.plural: (SEARCH_OBJECTS, ObjectReconciliation),
    SEARCH_USERS.plural: (SEARCH_USERS, UserReconciliation),
    SEARCH_RESTORES.plural: (SEARCH_RESTORES, RestoreReconciliation),
}


class Previews:
    """Previews resources of the kinds that have a preview; `namespace` has the key of digests."""

    def __init__(self, api: Api, databases: ReadableDatabases, clock: Clock, namespace: str) -> None:
        self._api = FencedApi(api, read_only)
        self._databases = databases
        self._clock = clock
        self._namespace = namespace

    async def preview(self, plural: str, offered: Any) -> ObjectPreview:
        """Return what an offered resource would do to the database, or why that is not known.

        Raises ApiError, and KeyError for a kind without a preview.
        """
        resource, reconciliation = _KINDS[plural]
        database, key = await self._database(offered), RootKey(b"")
        others, known = Store[Any](plural, indexes={BY_CLUSTER: by_cluster}), None
        if database.found is not None:
            try:
                key = await known_key(self._api, self._namespace)
            except ValueError as error:
                database = OneDatabase(self._databases, None, Outcome(Stage.STALLED, "NoDigestKey", str(error)))
            for each in (await list_all(self._api, resource, Selection(offered.metadata.namespace))).hand_over():
                others.wrote(each)
            known = await self._live(resource, key_of(offered))
        newest = replace(offered, metadata=replace(offered.metadata, creation_timestamp=LAST))
        live = newest if known is None else replace(known, spec=offered.spec)
        # Nothing runs this recorder: what it is told is never written.
        unheard = EventRecorder(self._api, "", "", clock=self._clock)
        tools = Tools(
            self._api,
            resource,
            database,
            others,
            unheard,
            self._clock,
            key,
            Unmeasured(),
            Locks[str](),
        )
        return await reconciliation(tools, live).preview(None if known is None else known.spec)

    async def _database(self, offered: Any) -> OneDatabase:
        kind, where = str(offered.spec.cluster.kind), ObjectKey(offered.metadata.namespace, offered.spec.cluster.name)
        way = await self._databases.way(kind, where)
        if isinstance(way, Unknown):
            return OneDatabase(self._databases, None, Outcome(Stage.WORKING, "NotKnown", way.why))
        why = ELSEWHERE if way is None and self._databases.cluster(kind, where) is not None else None
        return OneDatabase(self._databases, way, why)

    async def _live(self, resource: Resource[Any], key: ObjectKey) -> Any:
        """Return a resource as the API server has it now; None if there is none. Raises ApiError."""
        if not key.name:
            return None  # With `generateName` it gets its name when it is created; without one, this asks for all.
        try:
            return await self._api.get(resource, key)
        except NotFound:
            return None
