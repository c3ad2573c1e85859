"""The number of members that a pool has by its scaling, in the status: the only record of it."""

from stateward.api.kinds.scaling.limits import ScalingStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.planning.model.observation import PoolSize
from stateward.planning.model.times import parse_time, rfc3339


def scaling_status(size: PoolSize) -> ScalingStatus:
    """Return what the status records of a pool's size."""
    return ScalingStatus(
        replicas=size.replicas,
        reason=size.reason,
        limited=size.limited,
        change_time=_written(size.changed),
        growth_wanted_since_time=_written(size.growth_since),
        shrink_allowed_since_time=_written(size.shrink_since),
        cpu_percent=size.cpu,
        measured_time=_written(size.measured),
    )


def recorded_sizes(status: ClusterStatus) -> dict[str, PoolSize]:
    """Return, by pool, what the status records of its size; of one that does not scale, the number that it should have.

    One that should have no members has no record: it begins with the number of the spec. The disaster this prevents: a
    pool begins to scale while one of its members is replaced, has one member more than it should, and keeps it.
    """
    scaled = {pool.name: _size(pool.scaling) for pool in status.pools if pool.scaling is not None}
    return {pool.name: PoolSize(pool.desired) for pool in status.pools if pool.desired} | scaled


def _size(recorded: ScalingStatus) -> PoolSize:
    return PoolSize(
        replicas=recorded.replicas,
        reason=recorded.reason,
        limited=recorded.limited,
        changed=parse_time(recorded.change_time),
        growth_since=parse_time(recorded.growth_wanted_since_time),
        shrink_since=parse_time(recorded.shrink_allowed_since_time),
        cpu=recorded.cpu_percent,
        measured=parse_time(recorded.measured_time),
    )


def _written(when: float | None) -> str:
    return "" if when is None else rfc3339(when)
