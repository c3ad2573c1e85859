"""The exporter of a search cluster: it has a user of the database, if that is secured."""

from stateward.api.kinds.access.metrics import SearchMetrics
from stateward.api.kinds.search import SearchCluster
from stateward.engines.connection.base import Target
from stateward.engines.exporter.objects import Additions, metadata
from stateward.engines.search.exporter import objects
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import key_of
from stateward.operator.beside.control import Tools
from stateward.operator.beside.owned import Owned, StopError
from stateward.operator.exporters.credentials import Context, CredentialKeeper

UNREACHED = "the operator has not reached the database yet"


class SearchPart:
    """One round of one search cluster."""

    def __init__(self, tools: Tools, live: SearchCluster, owned: Owned) -> None:
        self._tools = tools
        self._live = live
        self._owned = owned
        self._keys = objects.keys_secret(live)
        self._keeper: CredentialKeeper | None = None

    @property
    def keeps(self) -> tuple[str, ...]:
        """The Secret with the credentials."""
        return (self._keys,)

    def unready(self) -> str:
        """Return that the operator has not reached the database yet."""
        target = self._target()
        return "" if target is not None and target.identity else UNREACHED

    async def files(self, *, doubt: bool) -> dict[str, str]:
        """Return the configuration, with credentials in a secured cluster.

        Raises StopError, TakenError, EngineError, ApiError.
        """
        target = self._target()
        if target is None:
            raise StopError("MetricsWaitForDatabase", UNREACHED)
        self._keeper = self._new_keeper(target)
        access = await self._keeper.keep(self._live.spec.metrics or SearchMetrics(), doubt=doubt)
        return objects.files(self._live, self._tools.engine, access)

    def additions(self) -> Additions:
        """Return nothing: the exporter asks the database itself."""
        return Additions()

    async def settle(self) -> None:
        """Delete the user before the present one; raises EngineError, ApiError."""
        if self._keeper is not None:
            await self._keeper.retire()

    async def clear(self) -> None:
        """Remove the users of the database, and their Secret last.

        Raises StopError if that has to wait, TakenError, EngineError, ApiError.
        """
        target = self._target()
        if target is None:
            raise StopError("MetricsWaitForDatabase", "its users are still in the database")
        await self._new_keeper(target).clear()
        if not await self._owned.delete(kinds.SECRETS, self._keys):
            raise StopError("MetricsRemoving", "the Secret with its credentials is being deleted")

    def _target(self) -> Target | None:
        return self._tools.databases.target(self._live.kind, key_of(self._live))

    def _new_keeper(self, target: Target) -> CredentialKeeper:
        tools, live = self._tools, self._live
        return CredentialKeeper(
            Context(
                api=tools.api,
                cluster=live,
                metadata=metadata(live, tools.engine),
                target=target,
                ask=lambda where, work: tools.databases.ask(live.kind, where, work),
                now=tools.clock.now().timestamp(),
            )
        )
