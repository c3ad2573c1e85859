"""`stop` and `start`: keep one member's process stopped, and start it again.

The request is stored on the cluster and not on the pod, so that it survives a recreated pod.
"""

from typing import Any

import click

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.cli.shared.completion import member_names
from stateward.cli.shared.echo import echo
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import read_cluster
from stateward.cli.shared.options import target_options
from stateward.cli.shared.session import Session, run
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import STATEFUL_SETS
from stateward.operator.objects.kinds import kind_of


@click.command()
@click.argument("member", shell_complete=member_names)
@target_options
def stop(member: str, **target: str) -> None:
    """Keep the process of MEMBER stopped.

    It stops in its pod when that is safe, and stays stopped until `start`. Sets the annotation stateward.dev/stopped on
    the cluster.
    """
    run(lambda session: keep(session, member, stopped=True), **target)
    echo(f"{member} is stopped when that is safe, and stays stopped; `start {member}` starts it again")


@click.command()
@click.argument("member", shell_complete=member_names)
@target_options
def start(member: str, **target: str) -> None:
    """Start the process of MEMBER again.

    Removes MEMBER from the annotation stateward.dev/stopped of its cluster.
    """
    run(lambda session: keep(session, member, stopped=False), **target)
    echo(f"{member} starts again")


async def keep(session: Session, member: str, *, stopped: bool) -> None:
    """Add a member to the list of stopped members, or remove it; raise Failure if the member does not exist."""
    unknown = Failure(f"there is no member {member!r} in namespace {session.namespace!r}")
    if not member:
        raise unknown
    try:
        found = await session.api.get(STATEFUL_SETS, Key(session.namespace, member))
    except NotFound as error:
        raise unknown from error
    owner = found.metadata.labels.get(names.LABEL_CLUSTER)
    if not owner:
        raise unknown
    cluster = await read_cluster(session, owner)
    patch = stopped_patch(cluster, member, stopped=stopped)
    await session.api.patch(kind_of(cluster).resource, session.key(cluster.metadata.name), patch, kind=PatchKind.MERGE)


def stopped_patch(cluster: Cluster, member: str, *, stopped: bool) -> dict[str, Any]:
    """Return the patch of the list; it applies only to the cluster as read."""
    listed = {*names.in_list(cluster.metadata.annotations.get(names.ANNOTATION_STOPPED, ""))}
    listed = listed | {member} if stopped else listed - {member}
    annotations = {names.ANNOTATION_STOPPED: ",".join(sorted(listed)) or None}
    return {"metadata": {"resourceVersion": cluster.metadata.resource_version, "annotations": annotations}}
