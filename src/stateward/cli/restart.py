"""`restart`: make all members anew, one safe set at a time, without changing what they are made from otherwise."""

from typing import Any

import click
import msgspec

from stateward.api.base import GROUP
from stateward.api.cluster import OpenSearchCluster
from stateward.cli.completion import cluster_names
from stateward.cli.failures import Failure
from stateward.cli.session import Session, read_cluster, run, target_options
from stateward.kube.client import PatchKind
from stateward.operator.caches import CLUSTERS

RESTARTED_AT = f"{GROUP}/restarted-at"
"""Annotation of pod templates that says when a person asked for a restart."""


@click.command()
@click.argument("name", shell_complete=cluster_names)
@click.option("--pool", default="", help="Only the members of this pool.")
@target_options
def restart(name: str, *, pool: str, **target: str) -> None:
    """Restart all members, one safe set at a time.

    Sets an annotation in the pod template of cluster NAME, or of one pool, which rolls out like any other change.
    """

    async def work(session: Session) -> None:
        cluster = await read_cluster(session, name)
        patch = restart_patch(cluster, pool, session.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
        await session.api.patch(CLUSTERS, session.key(name), patch, kind=PatchKind.JSON)

    run(work, **target)
    what = f"the members of pool {pool}" if pool else "all members"
    click.echo(f"{what} of {name} restart when it is safe; `status {name} --watch` follows it")


def restart_patch(cluster: OpenSearchCluster, pool: str, when: str) -> list[dict[str, Any]]:
    """Return the JSON patch that sets the annotation; it applies only to the cluster as it was read.

    Raises Failure when there is no such pool.
    """
    pools = [found.name for found in cluster.spec.pools]
    if pool and pool not in pools:
        raise Failure(f"{cluster.metadata.name} has no pool {pool!r}; it has {', '.join(pools)}")
    place = f"/spec/pools/{pools.index(pool)}" if pool else "/spec"
    template = cluster.spec.pools[pools.index(pool)].pod_template if pool else cluster.spec.pod_template
    wanted: dict[str, Any] = msgspec.to_builtins(template or {})
    annotations = wanted.setdefault("metadata", {}).setdefault("annotations", {})
    annotations[RESTARTED_AT] = when
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": cluster.metadata.resource_version},
        {"op": "add", "path": f"{place}/podTemplate", "value": wanted},
    ]
