"""Which other clusters a change of one concerns: those whose members trust it, or would.

Only those that name it themselves: the author of a cluster does not keep the operator busy with clusters of others.
"""

from collections.abc import Callable, Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.engines.search.spec.consent import Place, candidates
from stateward.kube.cache.deltas import Delta
from stateward.kube.objects.metadata import Key


def concerned(delta: Delta[Cluster], known: Callable[[Key], Cluster | None]) -> Iterator[Key]:
    """Yield the clusters whose trust may follow from a change; `known` returns the cluster with a key."""
    if _matters(delta.old) == _matters(delta.new):
        return
    changed = [each for each in (delta.old, delta.new) if isinstance(each, SearchCluster)]
    for key in sorted({Key(*place) for each in changed for place in candidates(each)}):
        other = known(key)
        if isinstance(other, SearchCluster) and Place(*delta.key) in candidates(other):
            yield key


def _matters(cluster: Cluster | None) -> object:
    """Return what of a cluster others depend on: what it says about them, and the mark of its CA."""
    if not isinstance(cluster, SearchCluster):
        return None
    spec, meta = cluster.spec, cluster.metadata
    return (meta.uid, meta.deletion_timestamp, spec.remote_clusters, spec.remote_access, cluster.status.security)
