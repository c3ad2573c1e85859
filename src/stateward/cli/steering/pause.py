"""`pause` and `resume`: hold a cluster's changes, and continue them."""

import click

from stateward.api.kinds.cluster import Cluster
from stateward.cli.shared.completion import cluster_names
from stateward.cli.shared.echo import echo
from stateward.cli.shared.find import no_such_cluster, read_cluster
from stateward.cli.shared.options import target_options
from stateward.cli.shared.session import Session, run
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.errors import NotFound
from stateward.operator.objects.kinds import kind_of


@click.command()
@click.argument("name", shell_complete=cluster_names)
@target_options
def pause(name: str, **target: str) -> None:
    """Hold all changes of a cluster.

    The operator starts no new step for cluster NAME; a restart in progress completes. Sets spec.update.paused.
    """
    run(lambda session: set_paused(session, name, paused=True), **target)
    echo(f"{name} is paused: the operator takes no new step; `resume {name}` continues")


@click.command()
@click.argument("name", shell_complete=cluster_names)
@target_options
def resume(name: str, **target: str) -> None:
    """Continue the changes of a cluster.

    Unsets spec.update.paused of cluster NAME.
    """
    run(lambda session: set_paused(session, name, paused=False), **target)
    echo(f"{name} goes on")


async def set_paused(session: Session, name: str, *, paused: bool) -> Cluster:
    """Set only `spec.update.paused`."""
    patch = {"spec": {"update": {"paused": paused}}}
    resource = kind_of(await read_cluster(session, name)).resource
    try:
        return await session.api.patch(resource, session.key(name), patch, kind=PatchKind.MERGE)
    except NotFound as error:
        raise no_such_cluster(session, name) from error
