"""Shell completion of cluster names, with a short timeout."""

import asyncio

import click
from click.shell_completion import CompletionItem

from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import all_clusters
from stateward.cli.shared.session import Opener, Target, open_session
from stateward.kube.objects.errors import ApiError, ConfigError

PATIENCE = 2.0
"""Timeout of a completion in seconds."""


def cluster_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Return the clusters with this prefix; nothing if the server does not answer."""
    target = Target(*(str(ctx.params.get(name) or "") for name in ("kubeconfig", "context", "namespace")))
    opener: Opener = ctx.find_root().obj or open_session
    try:
        names = asyncio.run(_names(opener, target))
    except (ApiError, ConfigError, Failure, OSError, TimeoutError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


async def _names(opener: Opener, target: Target) -> list[str]:
    async with asyncio.timeout(PATIENCE), opener(target) as session:
        return sorted({cluster.metadata.name for cluster in await all_clusters(session, session.namespace)})
