"""The numbers of members that PoolScales ask for: which of them is in charge of a pool, from the caches or live."""

from collections.abc import Iterable, Mapping

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.scaling.pool_scale import PoolScale
from stateward.api.kinds.search import SearchCluster
from stateward.api.schema.custom_resources import POOL_SCALE
from stateward.api.values.base import GROUP, VERSION
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import DecodeError, Forbidden, NotFound, UnknownResource
from stateward.kube.objects.resource import Resource, Selection
from stateward.planning.model.observation import Asked

POOL_SCALES = Resource(GROUP, VERSION, POOL_SCALE.plural, POOL_SCALE.name, PoolScale)


def by_cluster(scale: PoolScale) -> Iterable[str]:
    """Index PoolScales by the cluster that they name: namespace, kind and name."""
    return (f"{scale.metadata.namespace}/{scale.spec.cluster.kind.value}/{scale.spec.cluster.name}",)


def cluster_id(kind: str, namespace: str, name: str) -> str:
    """Return the key of a cluster in that index."""
    return f"{namespace}/{kind}/{name}"


def in_charge(scales: Iterable[PoolScale], pool: str) -> PoolScale | None:
    """Return the PoolScale of one cluster that a pool follows: the oldest one that is not being deleted."""
    mine = (scale for scale in scales if scale.spec.pool == pool and scale.metadata.deletion_timestamp is None)
    return min(mine, key=lambda s: (s.metadata.creation_timestamp or "", s.metadata.uid), default=None)


def asked(scales: Iterable[PoolScale]) -> dict[str, Asked]:
    """Return, by pool, what the PoolScales of one cluster ask for."""
    known = tuple(scales)
    chosen = {scale.spec.pool: in_charge(known, scale.spec.pool) for scale in known}
    return {
        pool: Asked(scale.spec.replicas, scale.metadata.name) for pool, scale in chosen.items() if scale is not None
    }


def follows_numbers(cluster: Cluster) -> bool:
    """Return whether a pool of the cluster follows a PoolScale."""
    if not isinstance(cluster, SearchCluster):
        return False
    return any(pool.scaling is not None and not pool.scaling.rules for pool in cluster.spec.pools)


async def asked_live(api: Api, kind: str, cluster: Cluster) -> Mapping[str, Asked] | None:
    """Return, by pool, what the PoolScales of a cluster ask for now; None if that is not known.

    Raises ApiError if the API server does not answer. Without the kind, or the right to read it, nothing is known.
    """
    if not follows_numbers(cluster):
        return {}
    meta = cluster.metadata
    try:
        state = await list_all(api, POOL_SCALES, Selection(meta.namespace))
    except (Forbidden, NotFound, UnknownResource, DecodeError):
        return None
    if state.troubles:
        return None
    mine = cluster_id(kind, meta.namespace, meta.name)
    return asked(scale for scale in state.hand_over() if mine in by_cluster(scale))
