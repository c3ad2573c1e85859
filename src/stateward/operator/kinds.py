"""The kinds of clusters that there are in the API: where each lives, and which engine runs it."""

from dataclasses import dataclass

from stateward.api import crd, products
from stateward.api.base import GROUP, VERSION
from stateward.api.cluster import OpenSearchCluster, SearchCluster
from stateward.kube.resource import Resource

PLURALS = {kind.record: kind.plural for kind in crd.CLUSTER_KINDS}

CLUSTERS = Resource(GROUP, VERSION, PLURALS[OpenSearchCluster], OpenSearchCluster.__name__, OpenSearchCluster)
"""The OpenSearch clusters, read as such."""


@dataclass(frozen=True)
class ClusterKind:
    """One kind of cluster."""

    resource: Resource[SearchCluster]
    engine: str
    """Value of the engine label on everything that belongs to a cluster of this kind."""


def _kind(product: products.Product) -> ClusterKind:
    record = product.record
    return ClusterKind(Resource(GROUP, VERSION, PLURALS[record], record.__name__, record), product.engine)


OPENSEARCH = _kind(products.OPENSEARCH)
ELASTICSEARCH = _kind(products.ELASTICSEARCH)
CLUSTER_KINDS = (OPENSEARCH, ELASTICSEARCH)


def kind_of(cluster: SearchCluster) -> ClusterKind:
    """Return the kind of a cluster; raise KeyError where it is of none."""
    engine = products.product_of(cluster).engine
    return next(kind for kind in CLUSTER_KINDS if kind.engine == engine)
