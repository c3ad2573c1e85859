"""New clusters that do not say whether they are to be secured: they are, where the operator was told so and it can be.

What it is for one that exists, it stays: nothing is switched that nobody asked for. A cluster whose status was lost, by
being restored from a backup, is not taken for a new one, because it has members; one whose first round was cut off has
its authority already.
"""

import msgspec

from stateward.api.kinds.products import ELASTICSEARCH, product_of
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.security import Security

REASON = "spec.security.enabled is not set, and this operator secures new clusters"


def secured_as_new(cluster: SearchCluster, *, alone: bool, begun: bool) -> SearchCluster:
    """Return a cluster with security on if it is a new one that can have it and does not say; itself otherwise.

    `alone` is whether no member of it was seen, `begun` whether it has an authority.
    """
    asked = cluster.spec.security or Security()
    if asked.enabled is not None or not able(cluster) or not unknown(cluster) or not (alone or begun):
        return cluster
    spec = msgspec.structs.replace(cluster.spec, security=msgspec.structs.replace(asked, enabled=True))
    return msgspec.structs.replace(cluster, spec=spec)


def able(cluster: SearchCluster) -> bool:
    """Return whether the image certainly can be secured: Elasticsearch by itself, OpenSearch in its official images."""
    return product_of(cluster) is ELASTICSEARCH or not cluster.spec.image


def unknown(cluster: SearchCluster) -> bool:
    """Return whether the cluster was never formed, nor about to be, as far as the status knows.

    What it says of security does not count: it also says that a Secret is waited for.
    """
    status = cluster.status
    return status.bootstrap is None and not status.cluster_uuid and not status.version
