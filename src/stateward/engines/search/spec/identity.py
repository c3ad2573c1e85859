"""Who a cluster is: the name its nodes carry, and whether it was formed."""

from stateward.engines.search.spec.flavor import Flavor, SearchCluster
from stateward.engines.search.spec.pools import bootstrap_member


def cluster_name(cluster: SearchCluster) -> str:
    """Return the name by which nodes know their cluster.

    The namespace is part of it: addresses of pods are used again, and a node that meets another namespace's cluster of
    the same name at one of its seeds would join it. A dot cannot occur in either part.
    """
    return f"{cluster.metadata.namespace}.{cluster.metadata.name}"


def formed(cluster: SearchCluster) -> bool:
    """Whether the cluster has been formed in its present life."""
    status = cluster.status
    return status.bootstrap.formed if status.bootstrap is not None else bool(status.cluster_uuid)


def candidate(flavor: Flavor, cluster: SearchCluster, member: str) -> bool:
    """Whether a member's pod waits for leave to form the cluster."""
    if formed(cluster):
        return False
    recorded = cluster.status.bootstrap
    return member == (recorded.member if recorded is not None else bootstrap_member(flavor, cluster))
