"""`replace` and `keep`: replace a member, or never replace it."""

from typing import Any

import click
import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.replacement import MembersByHand
from stateward.cli.shared.completion import member_names
from stateward.cli.shared.echo import echo
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import all_clusters
from stateward.cli.shared.options import target_options
from stateward.cli.shared.session import Session, run
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.metadata import key_of
from stateward.operator.objects.kinds import kind_of

DRAINED, UNDRAINED, ACCEPTED, KEPT = "replace", "replaceWithoutDraining", "acceptDataLoss", "keep"
"""The lists of spec.members."""


@click.command()
@click.argument("member", shell_complete=member_names)
@click.option("--without-draining", is_flag=True, help="Do not move its data away first: for a lost disk.")
@click.option(
    "--accept-data-loss", is_flag=True, help="With --without-draining: also if it holds the last copy of a shard."
)
@target_options
def replace(member: str, *, without_draining: bool, accept_data_loss: bool, **target: str) -> None:
    """Replace a member by a new one.

    A new member joins, the data of MEMBER moves away, then MEMBER is removed; its volume is kept. Adds MEMBER to
    spec.members.
    """
    if accept_data_loss and not without_draining:
        raise click.UsageError("--accept-data-loss is only for --without-draining: otherwise no data is lost")
    into = (UNDRAINED,) if without_draining else (DRAINED,)
    lists = (*into, ACCEPTED) if accept_data_loss else into
    cluster = run(lambda session: name_member(session, member, lists), **target)
    echo(f"{member} is replaced; `status {cluster} --watch` follows it, `keep {member}` takes it back")


@click.command()
@click.argument("member", shell_complete=member_names)
@target_options
def keep(member: str, **target: str) -> None:
    """Never replace a member, and cancel its replacement if one is in progress.

    Adds MEMBER to spec.members.keep, and removes it from all other lists of spec.members.
    """
    cluster = run(lambda session: name_member(session, member, (KEPT,)), **target)
    echo(f"{member} is kept; `status {cluster} --watch` follows it")


async def name_member(session: Session, member: str, lists: tuple[str, ...]) -> str:
    """Add the member to these lists of spec.members and remove it from all others; return the name of its cluster."""
    cluster = await cluster_of(session, member)
    patch = members_patch(cluster, member, lists)
    await session.api.patch(kind_of(cluster).resource, key_of(cluster), patch, kind=PatchKind.JSON)
    return cluster.metadata.name


async def cluster_of(session: Session, member: str) -> Cluster:
    """Return the cluster of a member; raise Failure if there is none."""
    clusters = await all_clusters(session, session.namespace)
    found = [cluster for cluster in clusters if member in members_of(cluster)]
    if not found:
        raise Failure(f"no cluster in namespace {session.namespace!r} has a member {member!r}; `status` lists members")
    if len(found) > 1:
        raise Failure(
            f"{' and '.join(cluster.kind for cluster in found)} have a member {member!r}; name the kind with --kind"
        )
    return found[0]


def members_of(cluster: Cluster) -> set[str]:
    """Return the members of the cluster, including leaving ones."""
    status = cluster.status
    return {m.name for m in status.member_states} | {r.name for r in status.pending_removals}


def members_patch(cluster: Cluster, member: str, lists: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the JSON patch that puts the member into these lists only; it applies only to the cluster as read."""
    before: dict[str, list[str]] = msgspec.to_builtins(cluster.spec.members or MembersByHand())
    after: dict[str, list[str]] = {}
    for name in (DRAINED, UNDRAINED, ACCEPTED, KEPT):
        rest = [other for other in before.get(name) or [] if other != member]
        after[name] = [*rest, member] if name in lists else rest
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": cluster.metadata.resource_version},
        {"op": "add", "path": "/spec/members", "value": {name: found for name, found in after.items() if found}},
    ]
