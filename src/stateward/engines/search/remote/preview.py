"""What a changed spec does to remote clusters, in sentences for `plan`."""

from collections.abc import Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.engines.search.configuration.security import secured
from stateward.engines.search.spec.consent import admitted, named


def remote_notes(cluster: Cluster) -> Iterator[str]:
    """Yield the sentences about a cluster as offered, with the status that it has."""
    if not isinstance(cluster, SearchCluster):
        return
    known = {each.name: each for each in cluster.status.remote_clusters or ()}
    asked = {entry.name: named(cluster, entry.cluster) for entry in cluster.spec.remote_clusters or ()}
    for alias, place in asked.items():
        if alias not in known or known[alias].cluster != str(place):
            yield f"remote cluster {alias}: {cluster.kind} {place}, once its spec.remoteAccess names this cluster"
    for alias in known.keys() - asked.keys():
        yield f"remote cluster {alias} is removed from the database"
    if cluster.status.remote_access is None and (places := sorted(map(str, admitted(cluster)))):
        also = "; they trust each other's CA with this cluster" if secured(cluster) else ""
        yield f"{', '.join(places)} may search this cluster{also}"
