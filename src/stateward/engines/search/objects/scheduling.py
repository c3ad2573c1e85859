"""Preferred scheduling: members on separate nodes, voters above all apart from other voters."""

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods import pods
from stateward.engines.search.objects.labels import LABEL_VOTES
from stateward.engines.search.spec.pools import ResolvedPool


def affinity(pool: ResolvedPool) -> Json:
    """Return an affinity that prefers nodes without other members; for voters, above all without other voters."""
    cluster = {names.LABEL_CLUSTER: pool.cluster.metadata.name}
    voters = [pods.spread_preference(100, {**cluster, LABEL_VOTES: "true"})] if pool.voting else []
    return pods.preferences(pods.spread_preference(50, cluster), *voters)
