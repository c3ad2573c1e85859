"""Checks how many members a cluster has in all."""

from collections.abc import Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster, replicas
from stateward.api.kinds.scaling.limits import MOST_IN_ALL, TOO_MANY
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.problem import Problem


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield the problem of a cluster with too many members."""
    total = sum(_most(cluster))
    if total > MOST_IN_ALL:
        yield Problem("spec.pools", f"{total} members", TOO_MANY)


def _most(cluster: Cluster) -> Iterator[int]:
    """Yield how many members each pool can have."""
    if isinstance(cluster, FoundationDBCluster):
        yield from (replicas(cluster.spec, pool) for pool in cluster.spec.pools)
    elif isinstance(cluster, SearchCluster):
        for pool in cluster.spec.pools:
            yield max(pool.replicas, pool.scaling.max if pool.scaling is not None else 0)
