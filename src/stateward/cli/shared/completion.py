"""Shell completion of the names of clusters, members and pools, with a short timeout."""

import asyncio
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from stateward.api.kinds.cluster import Cluster
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import all_clusters
from stateward.cli.shared.session import Opener, Target, open_session
from stateward.kube.objects.errors import ApiError, ConfigError

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


def _meant(ctx: click.Context, cluster: Cluster) -> bool:
    # After an option that still has no value, click leaves what comes before it unprocessed.
    named = ctx.params.get("name") or next((word for word in ctx.args if not word.startswith("-")), None)
    return not _takes_name(ctx) or named in (None, cluster.metadata.name)


def _takes_name(ctx: click.Context) -> bool:
    return any(param.name == "name" for param in ctx.command.params)


def _completed(ctx: click.Context, incomplete: str, names: Names) -> list[CompletionItem]:
    target = Target(*(str(ctx.params.get(name) or "") for name in ("kubeconfig", "context", "namespace")))
    opener: Opener = ctx.find_root().obj or open_session
    try:
        found = asyncio.run(_clusters(opener, target))
    except (ApiError, ConfigError, Failure, OSError, TimeoutError):
        return []
    return [
        CompletionItem(name)
        for name in sorted({name for cluster in found for name in names(cluster)})
        if name.startswith(incomplete)
    ]


async def _clusters(opener: Opener, target: Target) -> list[Cluster]:
    async with asyncio.timeout(PATIENCE), opener(target) as session:
        return await all_clusters(session, session.namespace)
