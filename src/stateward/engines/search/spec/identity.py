"""The identity of a cluster: the name that its nodes carry, and whether it is formed."""

from stateward.engines.search.spec.flavor import Flavor, SearchCluster
from stateward.engines.search.spec.pools import bootstrap_member


def cluster_name(cluster: SearchCluster) -> str:
    """Return the name by which nodes know their cluster.

    It contains the namespace: pod addresses are reused, and without it a node would join a cluster of the same name in
    another namespace if it met one at a seed address. Neither part can contain a dot.
    """
    return f"{cluster.metadata.namespace}.{cluster.metadata.name}"


def formed(cluster: SearchCluster) -> bool:
    """Whether the cluster has been formed, in its current life."""
    status = cluster.status
    return status.bootstrap.formed if status.bootstrap is not None else bool(status.cluster_uuid)


def candidate(flavor: Flavor, cluster: SearchCluster, member: str) -> bool:
    """Whether a member's pod waits for the grant to form the cluster."""
    if formed(cluster):
        return False
    recorded = cluster.status.bootstrap
    return member == (recorded.member if recorded is not None else bootstrap_member(flavor, cluster))
