"""What differs between the engines about an exporter: its configuration, its pod, and what the database has for it."""

from collections.abc import Mapping
from typing import Protocol

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import SearchCluster
from stateward.engines.exporter.objects import Additions
from stateward.operator.beside.control import Tools
from stateward.operator.beside.owned import Owned
from stateward.operator.exporters.foundationdb import FoundationPart
from stateward.operator.exporters.search import SearchPart


class Part(Protocol):
    """The engine's part of one round of one cluster's exporter."""

    @property
    def keeps(self) -> tuple[str, ...]:
        """The names of Secrets that are no configuration."""
        ...

    def unready(self) -> str:
        """Return why the exporter cannot be kept now, although nothing is wrong; empty if it can."""
        ...

    async def files(self, *, doubt: bool) -> Mapping[str, str]:
        """Return the configuration; with `doubt`, the exporter reports that it cannot read the database.

        Raises StopError, TakenError, EngineError, ApiError.
        """
        ...

    def additions(self) -> Additions:
        """Return what is in the pod beside the container that serves the metrics."""
        ...

    async def settle(self) -> None:
        """Remove what only earlier pods used; raises EngineError, ApiError."""
        ...

    async def clear(self) -> None:
        """Remove what is left after the pods.

        Raises StopError if that has to wait, TakenError, EngineError, ApiError.
        """
        ...


def part_of(tools: Tools, live: Cluster, owned: Owned) -> Part:
    """Return the part of the cluster's engine; raises TypeError if that has no exporter."""
    if isinstance(live, SearchCluster):
        return SearchPart(tools, live, owned)
    if isinstance(live, FoundationDBCluster):
        return FoundationPart(live, tools.engine)
    raise TypeError(f"{type(live).__name__} has no exporter")
