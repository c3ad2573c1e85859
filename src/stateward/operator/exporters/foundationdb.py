"""The exporter of a FoundationDB cluster: the database has no users, so there is nothing in it to keep or to remove.

It begins when the database was formed: before that there is no version that runs. Then it needs no answer of the
database, and follows the version.
"""

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.engines.exporter.objects import Additions
from stateward.engines.foundationdb.exporter import objects
from stateward.engines.foundationdb.spec.security import formed


class FoundationPart:
    """One round of one FoundationDB cluster."""

    keeps: tuple[str, ...] = ()

    def __init__(self, live: FoundationDBCluster, engine: str) -> None:
        self._live = live
        self._engine = engine

    def unready(self) -> str:
        """Return that the database was not formed yet."""
        known = formed(self._live) and objects.running(self._live)
        return "" if known else "the database has not been created yet"

    async def files(self, *, doubt: bool) -> dict[str, str]:  # noqa: ARG002 - there are no credentials to doubt
        """Return the configuration."""
        return objects.files(self._live, self._engine)

    def additions(self) -> Additions:
        """Return the container that asks the database, in the version that runs."""
        return objects.additions(self._live)

    async def settle(self) -> None:
        """Do nothing."""

    async def clear(self) -> None:
        """Do nothing."""
