"""The kinds of clusters in the API: the resource of each, and the engine that runs it."""

from dataclasses import dataclass

from stateward.api.kinds import products
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.schema import custom_resources
from stateward.api.values.base import GROUP, VERSION
from stateward.kube.objects.resource import Resource

PLURALS = {kind.record: kind.plural for kind in custom_resources.CLUSTER_KINDS}

CLUSTERS = Resource(GROUP, VERSION, PLURALS[OpenSearchCluster], OpenSearchCluster.__name__, OpenSearchCluster)
"""The OpenSearch clusters, read as such."""


@dataclass(frozen=True)
class ClusterKind:
    """One kind of cluster."""

    resource: Resource[Cluster]
    engine: str
    """Value of the engine label on everything that belongs to a cluster of this kind."""


def _kind(product: products.Product) -> ClusterKind:
    record = product.record
    return ClusterKind(Resource(GROUP, VERSION, PLURALS[record], record.__name__, record), product.engine)


OPENSEARCH = _kind(products.OPENSEARCH)
ELASTICSEARCH = _kind(products.ELASTICSEARCH)
FOUNDATIONDB = ClusterKind(
    Resource(GROUP, VERSION, PLURALS[FoundationDBCluster], FoundationDBCluster.__name__, FoundationDBCluster),
    "foundationdb",
)
CLUSTER_KINDS = (OPENSEARCH, ELASTICSEARCH, FOUNDATIONDB)


def kind_of(cluster: Cluster) -> ClusterKind:
    """Return the kind of a cluster; raise KeyError for an unknown kind."""
    for kind in CLUSTER_KINDS:
        if isinstance(cluster, kind.resource.view):
            return kind
    raise KeyError(f"{cluster.kind} is not a kind of cluster")
