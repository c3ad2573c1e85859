"""Secures new clusters whose spec leaves security open, if the operator is configured so and the image supports it.

An existing cluster keeps its security: nothing changes without a request. A cluster whose status was lost in a restore
from a backup does not count as new, because it has members; one whose first round was interrupted already has its CA.
"""

import msgspec

from stateward.api.kinds.products import ELASTICSEARCH, product_of
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.security import Security

REASON = "spec.security.enabled is not set, and this operator secures new clusters"


def secured_as_new(cluster: SearchCluster, *, alone: bool, begun: bool) -> SearchCluster:
    """Return a new cluster that leaves security open with security on, if possible; any other cluster unchanged.

    `alone` is whether no member of it was observed, `begun` whether it has a CA.
    """
    asked = cluster.spec.security or Security()
    if asked.enabled is not None or not can_be_secured(cluster) or not image_unknown(cluster) or not (alone or begun):
        return cluster
    spec = msgspec.structs.replace(cluster.spec, security=msgspec.structs.replace(asked, enabled=True))
    return msgspec.structs.replace(cluster, spec=spec)


def can_be_secured(cluster: SearchCluster) -> bool:
    """Return whether the image certainly supports security: Elasticsearch always, OpenSearch in its official images."""
    return product_of(cluster) is ELASTICSEARCH or not cluster.spec.image


def image_unknown(cluster: SearchCluster) -> bool:
    """Return whether, by its status, the cluster was never formed and is not being formed.

    The status of its security does not count: it also reports a missing Secret.
    """
    status = cluster.status
    return status.bootstrap is None and not status.cluster_uuid and not status.version
