"""Decides when the number of a pool's members changes by itself (`pools[].scaling`).

    a rule asks for more, for `growAfter`  ──▶ as many members as bring the measure to the rule's upper number
    all rules allow fewer, for `shrinkAfter` and the data has room ──▶ one member fewer
    a PoolScale asks for a number          ──▶ that number, within the limits

It only decides the number, which the status records; `scale` obeys the recorded number from the next round on, as after
an edit of `replicas`, so members join and leave on the safe way that everything takes.

It cannot flap under a steady load, because `below` is less than `above`. A measure is the mean of n members, so they
carry n times as much. A pool grows to the lowest number whose mean is at most `above`: one member fewer would have a
mean above it, so no rule lets it shrink again. It shrinks by one only if the others get a mean below `below`, at which
no rule asks for more.

Measures are taken once a minute, and trusted only while the pool has its number of members and all of them serve. While
they are not, or no operator runs, the times of the rules start again, and nothing changes.
"""

import math
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from stateward.planning.facts.facts import Facts, derive
from stateward.planning.model.observation import (
    CopyState,
    Health,
    Measure,
    Member,
    Observation,
    Pool,
    PoolSize,
    Scaling,
    ScalingRule,
)
from stateward.planning.safety.capacity import capacity_problem
from stateward.planning.steps.upkeep.disk_use import is_known

INTERVAL = 45.0
"""Seconds between two measurements at least: each one may be a write. A settled cluster is observed once a minute."""
PATIENCE = 300.0
"""Seconds without a measurement after which it is not known that a rule has asked for something without a break."""
RENEWAL = 180.0
"""Seconds after which the time of an average that stays the same is written: an older one is that of another load."""
CPU_WEIGHT = 5
"""A measurement of the processors moves their average by this part of the difference; so a burst passes."""
STEEPEST = 2
"""A pool at most doubles at once; then its measures are taken again."""
UNITS: Mapping[Measure, str] = {
    Measure.DISK: "{}% of its disks are used",
    Measure.CPU: "{}% of its processors are used",
    Measure.SHARDS: "its members have {} copies of shards each",
}


class Reading(Struct, frozen=True):
    """What a rule has measured; None if it is not known now."""

    rule: ScalingRule
    mean: float | None

    @property
    def asks(self) -> bool:
        """Whether it asks for more members."""
        return self.mean is not None and self.mean > self.rule.above

    def allows(self, members: int) -> bool:
        """Return whether one member fewer than so many is enough for it."""
        return self.mean is not None and members > 1 and self.mean * members / (members - 1) < self.rule.below

    def wanted(self, members: int) -> int:
        """Return the lowest number of members whose mean is not above the limit; it was measured of `members`."""
        return members if self.mean is None else max(members, math.ceil(members * self.mean / self.rule.above))

    def __str__(self) -> str:
        """Return it as a clause."""
        return UNITS[self.rule.measure].format("an unknown part" if self.mean is None else f"{self.mean:.0f}")


def pool_sizes(facts: Facts, *, hold: bool) -> dict[str, PoolSize]:
    """Return, by pool that scales, what the status is to record; with `hold`, no number changes."""
    return {pool.name: size(facts, pool, pool.scaling, hold=hold) for pool in facts.obs.desired.pools if pool.scaling}


def with_fixed_sizes(obs: Observation, now: float) -> Observation:
    """Return an observation whose pools keep the size that is decided at time `now` (seconds since the epoch).

    A forecast follows one change: what later loads lead to is not known.
    """
    desired = obs.desired
    if not any(pool.scaling for pool in desired.pools):
        return obs
    held = desired.paused or any(refusal.everything for refusal in desired.refusals)
    sizes = pool_sizes(derive(obs, now), hold=held)
    pools = (replace(p, replicas=sizes[p.name].replicas, scaling=None) if p.scaling else p for p in desired.pools)
    return replace(obs, desired=replace(desired, pools=tuple(pools)), sizes={})


def size(facts: Facts, pool: Pool, scaling: Scaling, *, hold: bool) -> PoolSize:
    """Return the size of one pool: as it is, or changed by a PoolScale, by a rule, or by new limits."""
    recorded = facts.obs.sizes.get(pool.name) or PoolSize(pool.replicas)
    if hold:
        return paused(replace(recorded, replicas=pool.replicas))
    if recorded.replicas != pool.replicas:
        limit = f"scaling.min is {scaling.lowest} and scaling.max is {scaling.highest}"
        recorded = changed(facts, recorded, pool.replicas, limit)
    return by_rules(facts, pool, scaling, recorded) if scaling.rules else by_number(facts, pool, scaling, recorded)


def by_number(facts: Facts, pool: Pool, scaling: Scaling, recorded: PoolSize) -> PoolSize:
    """Return the number that a PoolScale asks for, within the limits; without one the number stays."""
    asked = facts.obs.asked.get(pool.name) if facts.obs.asked is not None else None
    recorded = replace(paused(recorded), cpu=None, measured=None)
    if asked is None:
        return recorded
    number, text = scaling.within(asked.replicas), f"PoolScale {asked.by} asks for {asked.replicas}"
    if number != asked.replicas:
        text += f", and the limit is {number}"
    recorded = replace(recorded, limited=asked.replicas > scaling.highest)
    if number != recorded.replicas:
        return changed(facts, recorded, number, text)
    return replace(recorded, reason=text)


def by_rules(facts: Facts, pool: Pool, scaling: Scaling, recorded: PoolSize) -> PoolSize:
    """Return the number that the rules lead to, and since when they ask for another one."""
    members = measurable(facts, pool)
    if members is None:
        return paused(recorded)
    silence = math.inf if recorded.measured is None else facts.now - recorded.measured
    if 0 <= silence < INTERVAL:
        return recorded
    before = recorded if 0 <= silence <= PATIENCE else replace(paused(recorded), cpu=None)
    before = with_cpu(facts, scaling, before, members)
    readings = [Reading(rule, mean(facts, rule.measure, before, members)) for rule in scaling.rules]
    found = growth(facts, pool, scaling, before, readings) or shrink(facts, pool, scaling, before, readings)
    # A measurement that nothing follows from is no write.
    told = found != recorded or is_counting(found) or (found.cpu is not None and silence > RENEWAL)
    return replace(found, measured=facts.now) if told else found


def is_counting(size: PoolSize) -> bool:
    """Return whether a rule asks for another number, so that its time runs."""
    return size.growth_since is not None or size.shrink_since is not None


def growth(facts: Facts, pool: Pool, scaling: Scaling, recorded: PoolSize, readings: list[Reading]) -> PoolSize | None:
    """Return the size of a pool of which a rule asks for more members; None if none does."""
    asking = [reading for reading in readings if reading.asks]
    if not asking:
        return None
    most = max(asking, key=lambda reading: reading.wanted(pool.replicas))
    said = f"{most}, more than {most.rule.above}"
    if pool.replicas >= scaling.highest:
        text = f"{said}, and scaling.max is {scaling.highest}"
        return replace(recorded, limited=True, reason=text, growth_since=None, shrink_since=None)
    since = facts.now if recorded.growth_since is None else recorded.growth_since
    recorded = replace(recorded, limited=False, growth_since=since, shrink_since=None)
    if facts.now - since < scaling.grow_after or facts.turn is not None or facts.crossing:
        return recorded
    number = min(scaling.within(most.wanted(pool.replicas)), pool.replicas * STEEPEST)
    return changed(facts, recorded, max(number, pool.replicas + 1), said)


def shrink(facts: Facts, pool: Pool, scaling: Scaling, recorded: PoolSize, readings: list[Reading]) -> PoolSize:
    """Return the size of a pool of which no rule asks for more members: one fewer if all allow it for long enough."""
    reason = "" if recorded.limited else recorded.reason
    recorded = replace(recorded, limited=False, reason=reason, growth_since=None)
    enough = all(reading.allows(pool.replicas) for reading in readings) and pool.replicas > scaling.lowest
    if not enough or not at_rest(facts) or capacity_problem_without_last(facts, pool) is not None:
        return replace(recorded, shrink_since=None)
    since = facts.now if recorded.shrink_since is None else recorded.shrink_since
    if facts.now - since < scaling.shrink_after:
        return replace(recorded, shrink_since=since)
    text = f"{' and '.join(map(str, readings))}: one member fewer is enough"
    return changed(facts, recorded, pool.replicas - 1, text)


def changed(facts: Facts, recorded: PoolSize, replicas: int, reason: str) -> PoolSize:
    """Return another number of members, from now on: the times of the rules and the average of the load start again.

    The disaster this prevents: a pool has grown, the average is still that of fewer members, and the pool grows once
    more although its load is steady.
    """
    return replace(paused(recorded), replicas=replicas, reason=reason, changed=facts.now, cpu=None)


def paused(recorded: PoolSize) -> PoolSize:
    """Return the record without the times of the rules, which start again."""
    return replace(recorded, growth_since=None, shrink_since=None)


def measurable(facts: Facts, pool: Pool) -> tuple[Member, ...] | None:
    """Return the members of a pool; None while one does not serve, is missing, or leaves.

    One that was released is none any more: its pod may stay on a lost node for days.
    """
    mine = tuple(m for m in facts.obs.members if m.pool == pool.name and m.alive)
    draining = facts.database.draining if facts.database is not None else frozenset[str]()
    leaving = {*facts.obs.removals, *draining}
    if len(mine) != pool.replicas or not all(m.name in facts.up and m.name not in leaving for m in mine):
        return None
    return mine if all(facts.joined(m.name) for m in mine) else None


def mean(facts: Facts, measure: Measure, recorded: PoolSize, members: tuple[Member, ...]) -> float | None:
    """Return the mean of a measure over members; None if it is not known of one of them."""
    if measure is Measure.CPU:
        return recorded.cpu
    if measure is Measure.SHARDS:
        return sum(copies_on(facts, member.name) for member in members) / len(members)
    nodes = [node for member in members if (node := facts.node(member.name)) is not None and is_known(node)]
    if len(nodes) < len(members):
        return None
    return 100 * sum(node.disk_total - node.disk_free for node in nodes) / sum(node.disk_total for node in nodes)


def copies_on(facts: Facts, name: str) -> int:
    """Return how many copies of shards are on a member; one on its way to another member counts where it is."""
    placed = (copy for unit in facts.units_of(name) for copy in unit.copies if copy.member == name)
    return sum(copy.state is not CopyState.UNASSIGNED for copy in placed)


def with_cpu(facts: Facts, scaling: Scaling, recorded: PoolSize, members: tuple[Member, ...]) -> PoolSize:
    """Return the record with a new measurement of the processors, if a rule is about them.

    It is an exponential moving average. It moves by at least one point, so that rounding never stops it.
    """
    loads = list(cpu_loads(facts, members)) if any(r.measure is Measure.CPU for r in scaling.rules) else []
    if len(loads) < len(members):
        return replace(recorded, cpu=None)
    now, last = round(sum(loads) / len(loads)), recorded.cpu
    if last is None:
        return replace(recorded, cpu=now)
    step = (now - last) / CPU_WEIGHT
    return replace(recorded, cpu=last + (math.ceil(step) if step > 0 else math.floor(step)))


def cpu_loads(facts: Facts, members: tuple[Member, ...]) -> Iterator[int]:
    """Yield the use of each member's processors in percent, as far as it is known."""
    for member in members:
        node = facts.node(member.name)
        if node is not None and node.cpu is not None and 0 <= node.cpu <= 100:
            yield node.cpu


def at_rest(facts: Facts) -> bool:
    """Return whether nothing moves and nothing is missing anywhere in the cluster.

    A replaced member leaves its volume, which stays on the list for as long as it is kept.
    """
    database = facts.database
    replaced = any(m.alive and m.name in facts.obs.removals for m in facts.obs.members)
    if database is None or database.health is not Health.GREEN or database.draining or replaced:
        return False
    moving = any(copy.target or copy.state is CopyState.INITIALIZING for u in database.units for copy in u.copies)
    wanted = sum(pool.replicas for pool in facts.obs.desired.pools)
    whole = sum(m.alive for m in facts.obs.members) == wanted == len(facts.up)
    return whole and not moving and facts.turn is None and not facts.crossing


def capacity_problem_without_last(facts: Facts, pool: Pool) -> str | None:
    """Return why the other members cannot hold the data of the member that would leave; None if they can."""
    keep = facts.obs.desired.replacement.keep
    mine = [m for m in facts.obs.members if m.pool == pool.name and m.present and m.name not in keep]
    if not mine:
        return "every member is kept by the user"
    return capacity_problem(facts, mine[-1:], mine[-1:], frozenset())
