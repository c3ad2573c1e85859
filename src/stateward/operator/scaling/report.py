"""What a PoolScale reports about its pool, from the status of the cluster. Pure."""

from msgspec.structs import replace

from stateward.api.kinds.scaling.limits import Scaling
from stateward.api.kinds.scaling.pool_scale import PoolScale, PoolScaleStatus
from stateward.api.kinds.search import Pool, SearchCluster
from stateward.api.kinds.status import PoolStatus
from stateward.api.values import names
from stateward.operator.declared.reporting import Outcome, Stage, reported


def report(
    scale: PoolScale, cluster: SearchCluster | None, chosen: PoolScale | None, engine: str, now: float
) -> PoolScaleStatus:
    """Return the status of a PoolScale at time `now` (seconds since the epoch).

    `cluster` is the one that it names, None if there is none; `chosen` is the PoolScale that its pool follows.
    """
    pool = next((pool for pool in cluster.spec.pools if pool.name == scale.spec.pool), None) if cluster else None
    found = next((one for one in cluster.status.pools if pool and one.name == pool.name), None) if cluster else None
    status = replace(
        scale.status,
        # A number that is not known stays: an autoscaler would take 0 for an empty pool.
        replicas=number(found, scale.status.replicas),
        ready_replicas=found.ready if found is not None else 0,
        selector=selector(scale, engine) if pool is not None else "",
    )
    outcome = judged(scale, cluster, pool, chosen, found)
    return reported(status, outcome, scale.metadata.generation, now)


def number(found: PoolStatus | None, before: int) -> int:
    """Return how many members a pool should have now."""
    if found is None:
        return before
    return found.scaling.replicas if found.scaling is not None else found.desired


def selector(scale: PoolScale, engine: str) -> str:
    """Return the selector of the pool's pods, for autoscalers that measure them."""
    labels = {
        names.LABEL_CLUSTER: scale.spec.cluster.name,
        names.LABEL_ENGINE: engine,
        names.LABEL_POOL: scale.spec.pool,
    }
    return ",".join(f"{key}={value}" for key, value in labels.items())


def judged(
    scale: PoolScale,
    cluster: SearchCluster | None,
    pool: Pool | None,
    chosen: PoolScale | None,
    found: PoolStatus | None,
) -> Outcome:
    """Return whether the pool follows this PoolScale, and how far it is."""
    spec = scale.spec
    if cluster is None:
        text = f"there is no {spec.cluster.kind.value} {spec.cluster.name} in this namespace"
        return Outcome(Stage.STALLED, "ClusterMissing", text)
    if pool is None:
        return Outcome(Stage.STALLED, "PoolMissing", f"{spec.cluster.name} has no pool {spec.pool}")
    if pool.scaling is None:
        text = f"pool {spec.pool} has no scaling, so spec.replicas of the cluster is its number of members"
        return Outcome(Stage.STALLED, "NotScalable", text)
    if pool.scaling.rules:
        return Outcome(Stage.STALLED, "RulesInCharge", f"pool {spec.pool} scales by the rules of its cluster")
    if chosen is not None and chosen.metadata.uid != scale.metadata.uid:
        text = f"pool {spec.pool} follows PoolScale {chosen.metadata.name}, which is older; delete one of them"
        return Outcome(Stage.STALLED, "Conflict", text)
    return progress(scale, pool.scaling, found)


def progress(scale: PoolScale, scaling: Scaling, found: PoolStatus | None) -> Outcome:
    """Return how far the pool is on the way to the number."""
    wanted = max(scaling.min, min(scaling.max, scale.spec.replicas))
    limit = f", the nearest number within its limits to {scale.spec.replicas}" if wanted != scale.spec.replicas else ""
    text = f"pool {scale.spec.pool} has {wanted} members{limit}"
    recorded = found.scaling if found is not None else None
    if found is None or recorded is None or recorded.replicas != wanted:
        return Outcome(Stage.WORKING, "Resizing", f"pool {scale.spec.pool} is to have {wanted} members{limit}")
    if found.desired != wanted or found.ready != wanted:
        return Outcome(Stage.WORKING, "Resizing", f"{found.ready} of {wanted} members of pool {scale.spec.pool} serve")
    return Outcome(Stage.READY, "Limited" if limit else "Applied", text)
