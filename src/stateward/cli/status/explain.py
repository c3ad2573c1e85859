"""`explain`: why a cluster or one of its members waits, and what would end the wait."""

import click

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import MemberStatus
from stateward.cli.preview.inputs import read_inputs
from stateward.cli.preview.preview import inputs_of
from stateward.cli.shared.completion import cluster_names
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import read_cluster
from stateward.cli.shared.session import Session, run, target_options
from stateward.cli.status.explanation import explain_cluster, explain_member
from stateward.kube.objects.errors import ApiError
from stateward.operator.objects.kinds import kind_of


@click.command()
@click.argument("name", shell_complete=cluster_names)
@click.argument("member", required=False)
@target_options
def explain(name: str, member: str | None, **target: str) -> None:
    """Explain what a cluster waits for.

    The output says what cluster NAME, or its MEMBER, waits for, since when, what would end the wait, and what you can
    do.
    """

    async def work(session: Session) -> list[str]:
        cluster = await read_cluster(session, name)
        if member is None:
            return list(explain_cluster(cluster, session.now()))
        return await about_member(session, cluster, member)

    for line in run(work, **target):
        click.echo(line)


async def about_member(session: Session, cluster: Cluster, name: str) -> list[str]:
    """Return the lines about one member, with the pending inputs of its pod if they can be read."""
    found = find_member(cluster, name)
    try:
        observed = (await read_inputs(session, kind_of(cluster), cluster.metadata.name)).observed
    except ApiError as error:
        note = f"The inputs of its pod could not be read: {error.message}."
        return [*explain_member(cluster, found, session.now()), note]
    member = next((m for m in observed.members if m.name == found.name), None)
    pools = {pool.name: pool for pool in observed.desired.pools}
    inputs = inputs_of(member, pools.get(member.pool))[0] if member is not None else ""
    trouble = member.pod.trouble if member is not None and member.pod is not None else ""
    return list(explain_member(cluster, found, session.now(), inputs=inputs, trouble=trouble))


def find_member(cluster: Cluster, name: str) -> MemberStatus:
    """Return a member by its name, or by the part after the cluster's name; raise Failure if there is none."""
    states = {state.name: state for state in cluster.status.member_states}
    found = states.get(name) or states.get(f"{cluster.metadata.name}-{name}") or states.get(name.removesuffix("-0"))
    if found is None:
        raise Failure(f"{cluster.metadata.name} has no member {name!r}; it has {', '.join(sorted(states)) or 'none'}")
    return found
