"""Which FoundationDB cluster is meant, and what is known of its members without asking it."""

from collections.abc import Mapping
from typing import Protocol

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.engines.connection.base import RefusedError, Target
from stateward.engines.foundationdb.database.commands import Printed
from stateward.engines.foundationdb.spec.coordinators import Prospect


class FoundationTarget(Target, frozen=True, kw_only=True):
    """The cluster, with what its objects say of its members; `endpoints` are pods, as `NAMESPACE/POD`."""

    cluster: FoundationDBCluster
    known: Mapping[str, frozenset[str]] = {}
    """By member: the last known addresses of its pod, also of one that is gone and still leaves."""
    domains: Mapping[str, str] = {}
    """By member: the fault domain in which it runs, or ran last."""
    processes: Mapping[str, int] = {}
    """By member that is meant to run: how many processes it has."""
    lasting: frozenset[str] = frozenset()
    """Members whose pods have volumes."""
    fresh: frozenset[str] = frozenset()
    """Members that are meant to run, and have never been in the database."""
    missing: Mapping[str, float] = {}
    """By member that is missing: since when, in seconds since the epoch."""
    silent: Mapping[str, float] = {}
    """By member that does not serve: since when, in seconds since the epoch."""
    prospects: Mapping[str, Prospect] = {}
    """What is to be expected of members that do not just stay."""


class Shell(Protocol):
    """Runs the database's command line in a pod: the place where the simulation puts another world."""

    async def run(self, pod: str, command: str, seconds: int) -> Printed:
        """Return what `fdbcli --exec COMMAND` left behind within a time; raises UnreachableError."""
        ...


def meant(target: Target) -> FoundationTarget:
    """Return the target of a call; raises RefusedError for one of another engine."""
    if not isinstance(target, FoundationTarget):
        raise RefusedError(f"{target.name} is not a FoundationDB cluster")
    return target
