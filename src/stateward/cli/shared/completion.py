"""Shell completion of the names of clusters, members, pools, namespaces and contexts, with a short timeout."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from stateward.api.kinds.cluster import Cluster
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import all_clusters
from stateward.cli.shared.session import Opener, Session, Target, open_session
from stateward.kube.access.kubeconfig import kubeconfig_paths, read_kubeconfig
from stateward.kube.cache.listing import list_all
from stateward.kube.objects.errors import ApiError, ConfigError
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import NAMESPACES

PATIENCE = 2.0
"""Timeout of a completion in seconds."""

Names = Callable[[Cluster], Iterable[str]]


def cluster_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Return the clusters with this prefix; nothing if the server does not answer."""
    return _completed(ctx, incomplete, lambda cluster: (cluster.metadata.name,))


def member_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the members with this prefix: of the cluster that the command line names, or of all.

    Commands that name the cluster also take the part of a member's name after the cluster's.
    """
    short = bool(incomplete) and isinstance(param, click.Argument) and _takes_name(ctx)

    def members(cluster: Cluster) -> Iterable[str]:
        names = [member.name for member in cluster.status.member_states] if _meant(ctx, cluster) else []
        return (*names, *(name.removeprefix(f"{cluster.metadata.name}-") for name in names if short))

    return _completed(ctx, incomplete, members)


def pool_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Return the pools with this prefix: of the cluster that the command line names, or of all."""

    def pools(cluster: Cluster) -> Iterable[str]:
        return (pool.name for pool in cluster.status.pools) if _meant(ctx, cluster) else ()

    return _completed(ctx, incomplete, pools)


def namespace_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Return the namespaces with this prefix; nothing if the viewer may not list them."""

    async def read(session: Session) -> list[str]:
        found = await list_all(session.api, NAMESPACES, Selection())
        return [each.metadata.name for each in found.hand_over()]

    return _items(_answered(ctx, read), incomplete)


def context_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Return the contexts of the kubeconfig with this prefix; nothing if it cannot be read."""
    chosen = str(ctx.params.get("kubeconfig") or "")
    try:
        found = read_kubeconfig([Path(chosen).expanduser()] if chosen else kubeconfig_paths(os.environ))
    except ConfigError:
        return []
    return _items(found.contexts, incomplete)


def _meant(ctx: click.Context, cluster: Cluster) -> bool:
    # After an option that still has no value, click leaves what comes before it unprocessed.
    named = ctx.params.get("name") or next((word for word in ctx.args if not word.startswith("-")), None)
    return not _takes_name(ctx) or named in (None, cluster.metadata.name)


def _takes_name(ctx: click.Context) -> bool:
    return any(param.name == "name" for param in ctx.command.params)


def _completed(ctx: click.Context, incomplete: str, names: Names) -> list[CompletionItem]:
    async def read(session: Session) -> list[str]:
        return [name for cluster in await all_clusters(session, session.namespace) for name in names(cluster)]

    return _items(_answered(ctx, read), incomplete)


def _answered(ctx: click.Context, read: Callable[[Session], Awaitable[list[str]]]) -> list[str]:
    """Return what the server of the command line answers; nothing if it does not."""
    given = {name: str(ctx.params.get(name) or "") for name in ("kubeconfig", "context", "namespace")}
    target = Target(given["kubeconfig"], given["context"], given["namespace"])
    opener: Opener = ctx.find_root().obj or open_session
    try:
        return asyncio.run(_within(opener, target, read))
    except (ApiError, ConfigError, Failure, OSError, TimeoutError):
        return []


async def _within(opener: Opener, target: Target, read: Callable[[Session], Awaitable[list[str]]]) -> list[str]:
    async with asyncio.timeout(PATIENCE), opener(target) as session:
        return await read(session)


def _items(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(set(names)) if name.startswith(incomplete)]
