"""Labels that every object and pod of a FoundationDB cluster carries."""

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.engines.foundationdb.spec.pools import ResolvedPool

ENGINE = "foundationdb"
"""Value of the engine label, and name of the database's container."""


def cluster_labels(cluster: FoundationDBCluster) -> dict[str, str]:
    """Return the labels of all objects of a cluster."""
    return {
        "app.kubernetes.io/name": ENGINE,
        "app.kubernetes.io/instance": cluster.metadata.name,
        "app.kubernetes.io/managed-by": "stateward",
        names.LABEL_CLUSTER: cluster.metadata.name,
        names.LABEL_ENGINE: ENGINE,
    }


def member_labels(pool: ResolvedPool, ordinal: int) -> dict[str, str]:
    """Return the labels of all objects of a member."""
    return {
        **cluster_labels(pool.cluster),
        "app.kubernetes.io/component": pool.name,
        names.LABEL_POOL: pool.name,
        names.LABEL_MEMBER: pool.member(ordinal),
        names.LABEL_ORDINAL: str(ordinal),
        names.LABEL_ROLES: pool.role_label,
    }
