"""`explain`: why a cluster or one of its members waits, and what would end the wait."""

from typing import Any

import click

from stateward.api.kinds.cluster import Cluster
from stateward.cli.preview.inputs import read_inputs
from stateward.cli.preview.preview import inputs_of
from stateward.cli.shared.completion import cluster_names, member_names
from stateward.cli.shared.find import find_member, read_cluster
from stateward.cli.shared.options import target_options, view_options
from stateward.cli.shared.output import name_of, output_option, print_lines
from stateward.cli.shared.session import Session, run
from stateward.cli.status.access import access_lines
from stateward.cli.status.declared import declared_document, declared_lines, declared_of
from stateward.cli.status.explanation import document, explain_cluster, explain_member
from stateward.cli.status.presence import warn_of_silence
from stateward.kube.objects.errors import ApiError
from stateward.operator.objects.kinds import kind_of


@click.command()
@click.argument("name", shell_complete=cluster_names)
@click.argument("member", required=False, shell_complete=member_names)
@output_option
@view_options
@target_options
def explain(name: str, member: str | None, *, output: str, **target: Any) -> None:
    """Explain what a cluster waits for.

    The output says what cluster NAME, or its MEMBER, waits for, since when, what would end the wait, and what you can
    do. For a cluster it also has its dashboards, exporter, routes and remote clusters, and the resources for it, such
    as SearchObjects, SearchUsers and snapshots, that are not ready.
    """

    async def work(session: Session) -> tuple[Cluster, list[str], dict[str, Any]]:
        cluster = await read_cluster(session, name)
        await warn_of_silence(session, [cluster])
        if member is None:
            now = session.now()
            lines = [*explain_cluster(cluster, now), *access_lines(cluster, now)]
            declared = await declared_of(session, cluster)
            lines += declared_lines(declared)
            return cluster, lines, document(cluster) | declared_document(declared)
        return cluster, *(await about_member(session, cluster, member))

    cluster, lines, found = run(work, **target)
    print_lines(output, found, [name_of(cluster)], lines)


async def about_member(session: Session, cluster: Cluster, name: str) -> tuple[list[str], dict[str, Any]]:
    """Return the lines and the document about one member, with the pending inputs of its pod if they can be read."""
    found = find_member(cluster, name)
    try:
        observed = (await read_inputs(session, kind_of(cluster), cluster.metadata.name)).observed
    except ApiError as error:
        note = f"The inputs of its pod could not be read: {error.message}."
        return [*explain_member(cluster, found, session.now()), note], document(cluster, found, note=note)
    member = next((m for m in observed.members if m.name == found.name), None)
    pools = {pool.name: pool for pool in observed.desired.pools}
    inputs = inputs_of(member, pools.get(member.pool))[0] if member is not None else ""
    trouble = member.pod.trouble if member is not None and member.pod is not None else ""
    lines = list(explain_member(cluster, found, session.now(), inputs=inputs, trouble=trouble))
    return lines, document(cluster, found, inputs=inputs, trouble=trouble)
