"""Where the pods of a cluster like to be: apart from each other, over nodes and zones.

All of it is preference. A rule would keep a member from coming back after its node has gone.
"""

from stateward.api import names
from stateward.api.base import Json
from stateward.engines.search.labels import LABEL_VOTES
from stateward.engines.search.pools import ResolvedPool

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def affinity(pool: ResolvedPool) -> Json:
    """Keep members away from nodes that already carry one of the cluster; voters above all from other voters."""
    terms = [_apart(50, {names.LABEL_CLUSTER: pool.cluster.metadata.name})]
    if pool.voting:
        terms.append(_apart(100, {names.LABEL_CLUSTER: pool.cluster.metadata.name, LABEL_VOTES: "true"}))
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def spread(pool: ResolvedPool) -> list[Json]:
    """Spread the members of a pool evenly over zones, where there are zones."""
    labels = {names.LABEL_CLUSTER: pool.cluster.metadata.name, names.LABEL_POOL: pool.name}
    return [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }
    ]


def _apart(weight: int, labels: dict[str, str]) -> Json:
    return {
        "weight": weight,
        "podAffinityTerm": {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}},
    }
