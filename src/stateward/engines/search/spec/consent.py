"""Which clusters are joined: one names the other to search it, and the other names the one that may. Pure.

The disaster this prevents: a tenant writes a cluster whose members another tenant's cluster then trusts.
"""

from typing import NamedTuple

from stateward.api.kinds.access.remote import OtherCluster
from stateward.api.kinds.search import SearchCluster


class Place(NamedTuple):
    """A cluster of the same kind: namespace and name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def place_of(cluster: SearchCluster) -> Place:
    """Return the place of a cluster."""
    return Place(cluster.metadata.namespace, cluster.metadata.name)


def named(cluster: SearchCluster, other: OtherCluster) -> Place:
    """Return the place of another cluster as the spec of `cluster` names it."""
    return Place(other.namespace or cluster.metadata.namespace, other.name)


def searched(cluster: SearchCluster) -> frozenset[Place]:
    """Return the clusters that one asks to search; never itself."""
    found = {named(cluster, entry.cluster) for entry in cluster.spec.remote_clusters or ()}
    return frozenset(found - {place_of(cluster)})


def admitted(cluster: SearchCluster) -> frozenset[Place]:
    """Return the clusters that may search one; never itself."""
    access = cluster.spec.remote_access
    found = {named(cluster, other) for other in (access.clusters if access is not None else ())}
    return frozenset(found - {place_of(cluster)})


def candidates(cluster: SearchCluster) -> frozenset[Place]:
    """Return the clusters with which one may be joined, as far as its own spec says."""
    return searched(cluster) | admitted(cluster)


def joined(one: SearchCluster, other: SearchCluster) -> bool:
    """Return whether one of two clusters searches the other, and that one lets it."""
    if type(one) is not type(other):
        return False
    a, b = place_of(one), place_of(other)
    return (b in searched(one) and a in admitted(other)) or (a in searched(other) and b in admitted(one))
