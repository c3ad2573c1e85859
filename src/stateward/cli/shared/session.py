"""Access to the API server from a command: the target, and the session."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import click

from stateward.api.kinds.cluster import Cluster
from stateward.engines.connection.base import Speed
from stateward.kube.access.config import connect
from stateward.kube.client.client import Api, RawRequest
from stateward.kube.client.exec import Execute, no_exec
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock, SystemClock
from stateward.operator.objects.kinds import CLUSTER_KINDS, ClusterKind
from stateward.planning.model.database import Database, Unknown

OPERATOR_NAMESPACE = "stateward-system"

Result = TypeVar("Result")


Token = Callable[[], Awaitable[str]]


async def no_token() -> str:
    """Return that there is no token."""
    return ""


Lines = Callable[[RawRequest], AsyncGenerator[bytes]]


async def no_lines(request: RawRequest) -> AsyncGenerator[bytes]:  # noqa: ARG001 - nothing is followed
    """Follow nothing."""
    for line in ():
        yield line


class DatabaseReads(Protocol):
    """Reads databases directly, as only the operator's own process can."""

    async def report(self, cluster: Cluster) -> Database | Unknown:
        """Return what the cluster's database reports, or why that is not known."""
        ...

    async def speed(self, cluster: Cluster) -> Speed:
        """Return how fast the database recovers copies; unknown values if it does not answer."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """The API server and the namespace; empty values mean the defaults of kubectl."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    kind: str = ""
    """Engine of the only kind of cluster to use; empty for all."""
    operator_namespace: str = ""
    send_token: bool = False
    """Whether the operator may get the viewer's own token, if no other can be requested."""


@dataclass(frozen=True, slots=True)
class Session:
    """An open connection, and the default namespace of the commands."""

    api: Api
    namespace: str
    clock: Clock = field(default_factory=SystemClock)
    execute: Execute = no_exec
    """Runs a command in a container."""
    token: Token = no_token
    """Returns the token of the viewer's credentials; empty without one."""
    lines: Lines = no_lines
    """Follows an endless answer, such as a log."""
    operator_namespace: str = OPERATOR_NAMESPACE
    """Where the operator runs."""
    send_token: bool = False
    """Whether the operator may get the viewer's own token, if no other can be requested."""
    view_tokens: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])
    """Tokens for the operator's endpoint, by account, and until when they are used (monotonic seconds)."""
    kinds: tuple[ClusterKind, ...] = CLUSTER_KINDS
    """The kinds of clusters to use."""
    reads: DatabaseReads | None = None
    """How databases are read in the operator's process: then not through `pods/proxy` or the database view."""

    def key(self, name: str) -> Key:
        """Return the key of a cluster with this name."""
        return Key(self.namespace, name)

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self.clock.now().timestamp()


Opener = Callable[[Target], AbstractAsyncContextManager[Session]]
"""Opens sessions; tests put another one into the context's `obj`."""


@asynccontextmanager
async def open_session(target: Target) -> AsyncGenerator[Session]:
    """Connect as kubectl does; raise ConfigError."""
    # A help text needs no client of HTTP, which takes longest to import.
    from stateward.kube.client.http_client import HttpApi  # noqa: PLC0415

    connection = connect(kubeconfig=target.kubeconfig, context=target.context)
    async with HttpApi(connection) as api:

        async def token() -> str:
            return (await connection.credentials.current()).token

        namespace = target.namespace or connection.namespace
        yield Session(api, namespace, execute=api.execute, token=token, lines=api.lines)


def run(work: Callable[[Session], Awaitable[Result]], **target: str | bool | None) -> Result:
    """Run `work` with an open session and return its result.

    What is logged meanwhile is only errors: the command reports the result itself, the rest would be noise. The library
    of logs takes longer to import than all else that a short command needs. A module that logs is therefore imported
    before, and not by `work`.
    """
    opener = click.get_current_context().find_root().obj or open_session
    if "structlog" in sys.modules:
        from stateward.operator.runtime import logs  # noqa: PLC0415

        logs.configure("error")
    given: dict[str, Any] = {name: value for name, value in target.items() if value}
    return asyncio.run(_within(opener, Target(**given), work))


async def _within(opener: Opener, target: Target, work: Callable[[Session], Awaitable[Result]]) -> Result:
    async with opener(target) as session:
        kinds = tuple(kind for kind in CLUSTER_KINDS if target.kind in ("", kind.engine))
        place = target.operator_namespace or OPERATOR_NAMESPACE
        told = replace(session, kinds=kinds, operator_namespace=place, send_token=target.send_token)
        return await work(told)
