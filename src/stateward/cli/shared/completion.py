"""Completing the names of clusters in the shell, quickly or not at all."""

import asyncio

import click
from click.shell_completion import CompletionItem

from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import all_clusters
from stateward.cli.shared.session import Opener, Target, open_session
from stateward.kube.objects.errors import ApiError, ConfigError

PATIENCE = 2.0
"""Seconds that a person waits for a completion."""


def cluster_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Return the clusters whose names begin so; nothing where the server cannot be asked."""
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
