"""Labels that every object and pod of a search cluster carries, and the selectors that find them."""

from stateward.api.values import names
from stateward.api.values.base import GROUP
from stateward.engines.search.spec.flavor import Flavor, SearchCluster
from stateward.engines.search.spec.pools import ResolvedPool

LABEL_SERVES = f"{GROUP}/serves"
"""`true` on pods that clients may send requests to. Services select by equality only, so it is a separate label."""
LABEL_VOTES = f"{GROUP}/votes"
"""`true` on voting pods: other nodes discover the cluster through them."""


def cluster_labels(flavor: Flavor, cluster: SearchCluster) -> dict[str, str]:
    """Return the labels of all objects of a cluster."""
    return {
        "app.kubernetes.io/name": flavor.engine,
        "app.kubernetes.io/instance": cluster.metadata.name,
        "app.kubernetes.io/managed-by": "stateward",
        names.LABEL_CLUSTER: cluster.metadata.name,
        names.LABEL_ENGINE: flavor.engine,
    }


def member_labels(pool: ResolvedPool, ordinal: int) -> dict[str, str]:
    """Return the labels of all objects of a member."""
    return {
        **cluster_labels(pool.flavor, pool.cluster),
        "app.kubernetes.io/component": pool.name,
        names.LABEL_POOL: pool.name,
        names.LABEL_MEMBER: names.member(pool.cluster.metadata.name, pool.name, ordinal),
        names.LABEL_ORDINAL: str(ordinal),
        names.LABEL_ROLES: pool.role_label,
        LABEL_SERVES: str(pool.serves).lower(),
        LABEL_VOTES: str(pool.voting).lower(),
        **({names.LABEL_VOTING_ONLY: "true"} if pool.votes_only else {}),
    }
