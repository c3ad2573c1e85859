"""The FoundationDB cluster that is meant, and what is known of its members without a query."""

from collections.abc import Mapping
from typing import Protocol

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.engines.connection.base import RefusedError, Target
from stateward.engines.foundationdb.database.commands import Printed
from stateward.engines.foundationdb.spec.coordinators import Prospect


class FoundationTarget(Target, frozen=True, kw_only=True):
    """The cluster, with facts about its members from its objects; `endpoints` are pods, as `NAMESPACE/POD`."""

    cluster: FoundationDBCluster
    known: Mapping[str, frozenset[str]] = {}
    """By member: the last known addresses of its pod, including a member that is gone but still leaving."""
    earlier: Mapping[str, frozenset[str]] = {}
    """By member in a pod from which it has not joined: where its processes were last in the database; empty if that is
    not known, or if another pod has that address now. Its data is there, as far as the database knows."""
    domains: Mapping[str, str] = {}
    """By member: its current or last fault domain."""
    processes: Mapping[str, int] = {}
    """By member that should run: the number of its processes."""
    lasting: frozenset[str] = frozenset()
    """Members with volumes."""
    fresh: frozenset[str] = frozenset()
    """Members that should run and have never joined the database."""
    all_down: bool = False
    """Whether the processes of all pods restart together now, so that no answer is expected."""
    missing: Mapping[str, float] = {}
    """By missing or stopped member: since when, in seconds since the epoch."""
    silent: Mapping[str, float] = {}
    """By member that does not serve: since when, in seconds since the epoch."""
    maintenance_end: float | None = None
    """When the last maintenance of a zone ended: infinity if no end is known, None if there was none."""
    prospects: Mapping[str, Prospect] = {}
    """The expected future of members that do not simply stay."""


class Shell(Protocol):
    """Runs the database's command line in a pod; the simulation replaces it."""

    async def run(self, pod: str, command: str, seconds: int) -> Printed:
        """Return the output of `fdbcli --exec COMMAND` with a timeout; raise UnreachableError."""
        ...


def meant(target: Target) -> FoundationTarget:
    """Return the target of a call; raise RefusedError for one of another engine."""
    if not isinstance(target, FoundationTarget):
        raise RefusedError(f"{target.name} is not a FoundationDB cluster")
    return target
