"""`restart`: restarts all members, one safe set at a time or all together, without any other change."""

from collections.abc import Iterable, Iterator
from typing import Any

import click
import msgspec

from stateward.api.checks.template import mapped
from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.cli.shared.completion import cluster_names, member_names, pool_names
from stateward.cli.shared.echo import echo
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import read_cluster
from stateward.cli.shared.options import target_options
from stateward.cli.shared.session import Session, run
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import PODS
from stateward.operator.objects.kinds import kind_of
from stateward.planning.model.phase import Phase

_ANNOTATION = f"podTemplate/metadata/annotations/{names.ANNOTATION_RESTARTED.replace('/', '~1')}"
"""In a pool: the place of the request for new pods, as a JSON pointer."""


@click.command()
@click.argument("name", shell_complete=cluster_names)
@click.option("--pool", shell_complete=pool_names, help="Only the members of this pool.")
@click.option("--member", shell_complete=member_names, help="Only this member.")
@click.option(
    "--coordinated", is_flag=True, help="Stop all of them, then start all of them: the cluster is down in between."
)
@click.option("--recreate", is_flag=True, help="Recreate the pods; their volumes stay.")
@target_options
def restart(
    name: str, *, pool: str | None, member: str | None, coordinated: bool, recreate: bool, **target: str
) -> None:
    """Restart all members, one safe set at a time.

    The processes of cluster NAME restart in their pods, if these have an agent. Sets the annotation
    stateward.dev/restart-phase on the cluster or on the pod.
    """
    for option, value in (("--pool", pool), ("--member", member)):
        if value == "":
            raise click.UsageError(f"{option} is empty; leave it out to restart all members")
    if bool(pool) + bool(member) > 1 or (recreate and (member or coordinated)):
        raise click.UsageError("--pool, --member and --recreate each stand alone, and --recreate is always rolling")

    async def work(session: Session) -> None:
        if recreate:
            await request_new_pods(session, name, pool or "")
        else:
            await request_restart(session, name, pool=pool or "", member=member or "", coordinated=coordinated)

    run(work, **target)
    what = f"the members of pool {pool}" if pool else f"member {member}" if member else "all members"
    restart = "restarts" if member else "restart"
    how = "when it is safe" if not coordinated else "with all members that restart together" if member else "together"
    echo(f"{what} of {name} {restart} {how}; `status {name} --watch` follows it")


async def request_restart(
    session: Session, name: str, *, pool: str = "", member: str = "", coordinated: bool = False
) -> None:
    """Request a restart of all members of a cluster, of one pool, or of one member; raise Failure and ApiError."""
    cluster = await read_cluster(session, name)
    check_pool(cluster, pool)
    if member:
        await schedule_member(session, name, member, coordinated=coordinated)
        return
    asked = schedule_patch(cluster, pool, coordinated=coordinated)
    await session.api.patch(kind_of(cluster).resource, session.key(name), asked, kind=PatchKind.MERGE)


async def request_new_pods(session: Session, name: str, pool: str) -> None:
    """Request new pods for all members, or for those of one pool; raise Failure and ApiError."""
    cluster = await read_cluster(session, name)
    patch = restart_patch(cluster, pool, session.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
    await session.api.patch(kind_of(cluster).resource, session.key(name), patch, kind=PatchKind.JSON)


def phase_of(*, coordinated: bool) -> str:
    """Return the phase that requests a restart."""
    return (Phase.SCHEDULE_COORDINATED if coordinated else Phase.SCHEDULE_ROLLING).value


def schedule_patch(cluster: Cluster, pool: str, *, coordinated: bool) -> dict[str, Any]:
    """Return the patch of the cluster that requests a restart of one pool, or of all.

    A request of the same kind that the operator has not recorded yet, as while it is away, keeps its pools.
    """
    phase, before = phase_of(coordinated=coordinated), cluster.metadata.annotations
    pools = {pool}
    if before.get(names.ANNOTATION_PHASE) == phase:
        pools |= set(names.in_list(before.get(names.ANNOTATION_RESTART_POOLS, "")) or [""])
    text = None if "" in pools else ",".join(sorted(pools))
    return {"metadata": {"annotations": {names.ANNOTATION_PHASE: phase, names.ANNOTATION_RESTART_POOLS: text}}}


async def schedule_member(session: Session, name: str, member: str, *, coordinated: bool) -> None:
    """Request a restart of one member, on its pod; raise Failure if the cluster has no such member."""
    key = Key(session.namespace, names.pod(member))
    try:
        pod = await session.api.get(PODS, key)
    except NotFound as error:
        raise Failure(f"{name} has no member {member!r} with a pod") from error
    if pod.metadata.labels.get(names.LABEL_CLUSTER) != name:
        raise Failure(f"{member} is not a member of {name}")
    phase = phase_of(coordinated=True) if coordinated else Phase.SCHEDULE.value
    patch = {"metadata": {"uid": pod.metadata.uid, "annotations": {names.ANNOTATION_PHASE: phase}}}
    await session.api.patch(PODS, key, patch, kind=PatchKind.MERGE)


def check_pool(cluster: Cluster, pool: str) -> None:
    """Raise Failure if there is no such pool."""
    pools = [found.name for found in cluster.spec.pools]
    if pool and pool not in pools:
        raise Failure(f"{cluster.metadata.name} has no pool {pool!r}; it has {', '.join(pools)}")


def restart_patch(cluster: Cluster, pool: str, when: str) -> list[dict[str, Any]]:
    """Return the JSON patch that requests new pods; it applies only to the cluster as read.

    An earlier request for one pool would hide one for all from this pool, so it is taken away. Raise Failure if there
    is no such pool.
    """
    check_pool(cluster, pool)
    pools = [found.name for found in cluster.spec.pools]
    place = f"/spec/pools/{pools.index(pool)}" if pool else "/spec"
    template = cluster.spec.pools[pools.index(pool)].pod_template if pool else cluster.spec.pod_template
    wanted: dict[str, Any] = msgspec.to_builtins(template or {})
    annotations = wanted.setdefault("metadata", {}).setdefault("annotations", {})
    annotations[names.ANNOTATION_RESTARTED] = when
    hiding: Iterable[int] = () if pool else _hiding(cluster)
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": cluster.metadata.resource_version},
        {"op": "add", "path": f"{place}/podTemplate", "value": wanted},
        *({"op": "remove", "path": f"/spec/pools/{number}/{_ANNOTATION}"} for number in hiding),
    ]


def _hiding(cluster: Cluster) -> Iterator[int]:
    """Yield the places of the pools that have an own request for new pods."""
    for number, pool in enumerate(cluster.spec.pools):
        if names.ANNOTATION_RESTARTED in mapped(mapped(pool.pod_template or {}, "metadata"), "annotations"):
            yield number
