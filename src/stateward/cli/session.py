"""Talking to the API server from a command: the options that say where, and a block in which to do it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from stateward.api.cluster import OpenSearchCluster
from stateward.cli.failures import Failure
from stateward.kube.client import Api
from stateward.kube.clock import Clock, SystemClock
from stateward.kube.config import connect
from stateward.kube.errors import NotFound
from stateward.kube.http_client import HttpApi
from stateward.kube.metadata import Key
from stateward.operator import logs
from stateward.operator.caches import CLUSTERS

Result = TypeVar("Result")
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Target:
    """Which API server, and which namespace in it; empty is what kubectl would take."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """An open connection, and the namespace that commands speak of."""

    api: Api
    namespace: str
    clock: Clock = field(default_factory=SystemClock)

    def key(self, name: str) -> Key:
        """Return where a cluster of this name is."""
        return Key(self.namespace, name)

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self.clock.now().timestamp()


Opener = Callable[[Target], AbstractAsyncContextManager[Session]]
"""Opens sessions; tests put another one into the context's `obj`."""


@asynccontextmanager
async def open_session(target: Target) -> AsyncGenerator[Session]:
    """Connect as kubectl would; raises ConfigError."""
    connection = connect(kubeconfig=target.kubeconfig, context=target.context)
    async with HttpApi(connection) as api:
        yield Session(api, target.namespace or connection.namespace)


def target_options(command: Command) -> Command:
    """Add the options that say where to a command, which gets them as `kubeconfig`, `context` and `namespace`."""
    for option in (
        click.option("-n", "--namespace", default="", help="Namespace of the cluster; default: the context's."),
        click.option("--context", default="", help="Context of the kubeconfig."),
        click.option("--kubeconfig", default="", help="Path of a kubeconfig; default: as kubectl."),
    ):
        command = option(command)
    return command


def run(work: Callable[[Session], Awaitable[Result]], **target: str) -> Result:
    """Run `work` with an open session and return what it returns."""
    opener = click.get_current_context().find_root().obj or open_session
    logs.configure("error")  # The command says itself what happened; the runtime's log lines would be noise.
    return asyncio.run(_within(opener, Target(**target), work))


async def _within(opener: Opener, target: Target, work: Callable[[Session], Awaitable[Result]]) -> Result:
    async with opener(target) as session:
        return await work(session)


async def read_cluster(session: Session, name: str) -> OpenSearchCluster:
    """Return a cluster; one that is not there is a failure that says so."""
    try:
        return await session.api.get(CLUSTERS, session.key(name))
    except NotFound as error:
        raise no_such_cluster(session, name) from error


def no_such_cluster(session: Session, name: str) -> Failure:
    """Return the failure that a cluster is not there."""
    return Failure(
        f"there is no cluster {name!r} in namespace {session.namespace!r}; `list --all-namespaces` shows all there are"
    )
