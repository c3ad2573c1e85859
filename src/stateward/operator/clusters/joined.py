"""Which other clusters a change of one concerns: those whose members trust it, or would."""

from collections.abc import Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.engines.search.spec.consent import candidates
from stateward.kube.cache.deltas import Delta
from stateward.kube.objects.metadata import Key


def concerned(delta: Delta[Cluster]) -> Iterator[Key]:
    """Yield the clusters whose trust may follow from a change; some may not exist."""
    if _matters(delta.old) == _matters(delta.new):
        return
    for cluster in (delta.old, delta.new):
        if isinstance(cluster, SearchCluster):
            yield from (Key(*place) for place in candidates(cluster))


def _matters(cluster: Cluster | None) -> object:
    """Return what of a cluster others depend on: what it says about them, and the mark of its CA."""
    if not isinstance(cluster, SearchCluster):
        return None
    spec, meta = cluster.spec, cluster.metadata
    return (meta.uid, meta.deletion_timestamp, spec.remote_clusters, spec.remote_access, cluster.status.security)
