"""How many members a pool has by its scaling: the limits, the rules, and the number that the status records.

A number is recorded before it is obeyed. So what a round decides takes effect in a later one, whichever operator makes
it, and a decision cannot be lost, taken twice or reversed by the next measurement. Times are seconds since the epoch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from stateward.planning.model.desired import Desired, Pool, unavailable
from stateward.planning.model.member import Member


class PoolSize(Struct, frozen=True):
    """The number of members that the status records of a pool, and what the next one follows from."""

    replicas: int
    reason: str = ""
    """Why so many, as a sentence without its full stop."""
    limited: bool = False
    """Whether more are asked for than the limit allows."""
    changed: float | None = None
    """When the number last changed; None if it never did."""
    growth_since: float | None = None
    """Since when a rule has asked for more members without a break; None if none does."""
    shrink_since: float | None = None
    """Since when all rules have allowed fewer members without a break; None if one does not."""
    cpu: int | None = None
    """Use of the processors in percent, smoothed over some minutes; None if it is not known."""
    measured: float | None = None
    """When a measurement last changed this record, or let a time run on."""


class Asked(Struct, frozen=True):
    """The number of members that a PoolScale asks for."""

    replicas: int
    by: str
    """Name of the PoolScale."""


def with_sizes(desired: Desired, sizes: Mapping[str, PoolSize], members: Iterable[Member]) -> Desired:
    """Return the desired state with the recorded number of members of each pool that scales.

    Without a record a pool has the members that it has, or those of the spec if it has none. The disaster this
    prevents: the resource is restored from a backup, without its status, and a pool that has grown shrinks at once.
    """
    if not any(pool.scaling for pool in desired.pools):
        return desired
    there = Counter(member.pool for member in members if member.alive)
    pools = tuple(
        replace(pool, replicas=size_of(pool, sizes.get(pool.name), there[pool.name])) for pool in desired.pools
    )
    count = sum(pool.replicas for pool in pools)
    return replace(desired, pools=pools, max_unavailable=unavailable(desired, count))


def size_of(pool: Pool, recorded: PoolSize | None, there: int) -> int:
    """Return how many members a pool should have now; `there` are those that it has."""
    if pool.scaling is None:
        return pool.replicas
    return pool.scaling.within(recorded.replicas if recorded is not None else there or pool.replicas)
