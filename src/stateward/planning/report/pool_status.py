"""Reports the state of each pool: how many of its desired members serve, and with which version."""

from collections.abc import Mapping

from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus, PoolStatus
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.upgrade_order import pool_upgraded, upgrading
from stateward.planning.model.observation import Pool, PoolSize, Removal
from stateward.planning.report.disk_status import disk_status
from stateward.planning.report.scaling_status import scaling_status
from stateward.planning.steps.membership.scale import replacements, scale


def pool_states(
    facts: Facts, removals: Mapping[str, Removal], sizes: Mapping[str, PoolSize], before: ClusterStatus
) -> list[PoolStatus]:
    """Return the state of the pools; under an invalid spec, of those in the previous spec, which keep running."""
    pools = facts.obs.desired.pools
    if not pools:
        kept = ((p, pool_state(facts, p.name, p.desired, _up(facts, p.name), "")) for p in before.pools)
        return [replace(state, disk=pool.disk, scaling=pool.scaling) for pool, state in kept]
    earlier = {pool.name: pool.disk for pool in before.pools}
    return [
        replace(
            pool_state(facts, pool.name, pool.replicas, serving(facts, pool, removals), _upgrade(facts, pool)),
            disk=disk_status(facts, pool, earlier.get(pool.name)),
            scaling=scaling_status(sizes[pool.name]) if pool.name in sizes else None,
        )
        for pool in pools
    ]


def pool_state(facts: Facts, name: str, desired: int, ready: int, upgrade: str) -> PoolStatus:
    """Return the state of the pool with this name."""
    pods = (m.pod for m in facts.obs.members if m.pool == name and m.workload is not None)
    versions = sorted({pod.version for pod in pods if pod is not None and pod.version})
    return PoolStatus(name=name, ready=ready, desired=desired, version=", ".join(versions), upgrade=upgrade)


def serving(facts: Facts, pool: Pool, removals: Mapping[str, Removal]) -> int:
    """Return how many of the pool's desired members serve.

    Leaving members do not count. A replaced member counts until its successor serves.
    """
    mine = {m.name for m in facts.obs.members if m.pool == pool.name and m.workload is not None}
    if len(mine) <= pool.replicas:
        return len(mine & facts.up)
    replaced = replacements(facts, removals).keys() | removals.keys()
    surplus = scale(facts, removals).leaving.keys() - replaced
    return min(pool.replicas, len((mine & facts.up) - surplus))


def _up(facts: Facts, name: str) -> int:
    return sum(m.name in facts.up for m in facts.obs.members if m.pool == name and m.workload is not None)


def _upgrade(facts: Facts, pool: Pool) -> str:
    if not upgrading(facts.obs):
        return ""
    if facts.turn is not None and facts.turn.name == pool.name:
        return "Upgrading"
    return "Upgraded" if pool_upgraded(facts.obs, facts.up, pool) else "Pending"
