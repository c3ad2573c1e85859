"""Whose turn is it in a version upgrade.

Pools change one after the other: data without votes, then data with votes, then the rest; among the rest the members
without a vote come first, so that managers are last. Until its turn a pool's members keep the version they run, also
when one of them is evicted and comes back. Source: the upgrade reconciler (reference 3).
"""

import re

from stateward.planning.facts import Facts
from stateward.planning.observation import Member, Observation, Pool


def parse(version: str) -> tuple[int, ...]:
    """Return a version as numbers that compare in order; an empty version is the lowest."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def newer(first: str, second: str) -> bool:
    """Return whether the first version is higher than the second."""
    return parse(first) > parse(second)


def upgrading(obs: Observation) -> bool:
    """Return whether another version than the deployed one is wanted."""
    return bool(obs.deployed_version) and obs.desired.version != obs.deployed_version


def rank(pool: Pool) -> int:
    """Return the pool's place in the safe order by role."""
    if pool.data:
        return 1 if pool.voting else 0
    return 3 if pool.voting else 2


def pool_order(obs: Observation) -> list[Pool]:
    """Return the pools in the order in which they change: by role, then tier, then as the user says, then as listed."""
    wish = {name: i for i, name in enumerate(obs.desired.order)}
    return sorted(obs.desired.pools, key=lambda pool: (rank(pool), pool.tier, wish.get(pool.name, len(wish))))


def runs(facts: Facts, member: Member, version: str) -> bool:
    """Return whether the member serves with this version."""
    return member.name in facts.up and member.pod is not None and member.pod.version == version


def upgraded(facts: Facts, pool: Pool) -> bool:
    """Return whether every member of the pool serves with the desired version."""
    return all(
        runs(facts, m, facts.obs.desired.version) for m in facts.obs.members if m.pool == pool.name and m.workload
    )


def pool_in_turn(facts: Facts) -> Pool | None:
    """Return the pool that changes its version now; None when all have it, or no upgrade is wanted."""
    if not upgrading(facts.obs):
        return None
    return next((pool for pool in pool_order(facts.obs) if not upgraded(facts, pool)), None)


def cannot_go_back(obs: Observation) -> str | None:
    """Return a member that has joined with a newer version than the desired one, so that the data cannot go back."""
    ahead = [n for n, record in obs.records.items() if newer(record.version, obs.desired.version)]
    alive = {m.name for m in obs.members if m.workload}
    return next((name for name in sorted(ahead) if name in alive), None)


def target_version(facts: Facts, pool: Pool) -> str:
    """Return the version that members of the pool should run now.

    A pool whose turn has not come keeps the deployed version, unless every node of the cluster already runs the new
    one: then an older node could not join any more.
    """
    obs = facts.obs
    if not upgrading(obs):
        return obs.desired.version
    order = [p.name for p in pool_order(obs)]
    turn = pool_in_turn(facts)
    if turn is None or order.index(pool.name) <= order.index(turn.name):
        return obs.desired.version
    nodes = facts.database.nodes.values() if facts.database else ()
    if nodes and all(not newer(obs.desired.version, node.version) for node in nodes):
        return obs.desired.version
    return obs.deployed_version
