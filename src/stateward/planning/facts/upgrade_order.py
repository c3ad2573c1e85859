"""Decides which pool is next in a version upgrade.

Pools change one after the other: data without votes, then data with votes, then the rest; among the rest, members
without a vote come first, so that managers are last, and after them members that vote and cannot be elected. Until a
pool is next, its members keep the version they run, also if one of them is evicted and comes back. Source: the upgrade
reconciler (reference 3).

    Pending ──every pool before it is Upgraded──▶ Upgrading ──every member serves with the new version──▶ Upgraded
"""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache

from stateward.planning.model.observation import Database, Member, Observation, Pool, ProtocolSwitch


@lru_cache(maxsize=256)
def parse(version: str) -> tuple[int, ...]:
    """Return a version as numbers that compare in order; an empty version is the lowest.

    A text that is no version has numbers as well: what users can write must not end a plan.
    """
    return tuple(int(part) for part in re.findall(r"[0-9]{1,9}", version))


def newer(first: str, second: str) -> bool:
    """Return whether the first version is higher than the second."""
    return parse(first) > parse(second)


def upgrading(obs: Observation) -> bool:
    """Return whether the desired version differs from the deployed one."""
    return bool(obs.deployed_version) and obs.desired.version != obs.deployed_version


def role_rank(pool: Pool) -> int:
    """Return the pool's place in the safe order by role.

    The disaster this prevents: managers become nodes that only vote, and others get their place, in the middle of an
    upgrade. The former wait until one of the latter can be elected, and these wait for the upgrade of the former.
    """
    if pool.only_votes:
        return 4
    if pool.data:
        return 1 if pool.voting else 0
    return 3 if pool.voting else 2


def pool_order(obs: Observation) -> list[Pool]:
    """Return the pools in the order of change: by role, then tier, then by the user's order, then as listed."""
    wish = {name: i for i, name in enumerate(obs.desired.order)}
    return sorted(obs.desired.pools, key=lambda pool: (role_rank(pool), pool.tier, wish.get(pool.name, len(wish))))


def members_upgraded(obs: Observation, up: AbstractSet[str], members: Iterable[Member]) -> bool:
    """Return whether all these members serve with the desired version.

    A released member does not count; otherwise a pod that cannot end on a failed machine would block the upgrade
    forever.
    """
    living = (m for m in members if m.alive)
    return all(m.name in up and m.pod is not None and m.pod.version == obs.desired.version for m in living)


def pool_upgraded(obs: Observation, up: AbstractSet[str], pool: Pool) -> bool:
    """Return whether every member of the pool serves with the desired version."""
    return members_upgraded(obs, up, (m for m in obs.members if m.pool == pool.name))


def pool_in_turn(obs: Observation, up: AbstractSet[str]) -> Pool | None:
    """Return the pool that changes its version now; None if all have it, or if no upgrade is desired."""
    if not upgrading(obs):
        return None
    return next((pool for pool in pool_order(obs) if not pool_upgraded(obs, up, pool)), None)


def creation_versions(
    obs: Observation, turn: Pool | None, database: Database | None, step: ProtocolSwitch
) -> dict[str, str]:
    """Return by pool the version that its members are created with now.

    A pool that is not next keeps the deployed version, unless every node of the cluster already runs a later one: then
    a node of the deployed version could no longer join, and the wait for it would never end. That later version is
    another than the desired one if the user has changed the version again meanwhile.
    """
    order = [pool.name for pool in pool_order(obs)]
    if any(pool.crossings for pool in obs.desired.pools):
        # All of them change at one moment: before it no image changes, and after it each may.
        return dict.fromkeys(order, obs.deployed_version if step else obs.desired.version)
    limit = len(order) if turn is None or all_nodes_later(obs, database) else order.index(turn.name) + 1
    return {name: obs.desired.version if i < limit else obs.deployed_version for i, name in enumerate(order)}


def all_nodes_later(obs: Observation, database: Database | None) -> bool:
    """Return whether the database has nodes and all of them run a later version than the deployed one."""
    nodes = database.nodes.values() if database else ()
    return bool(nodes) and all(newer(node.version, obs.deployed_version) for node in nodes)


def newest_joined_version(obs: Observation, member: Member) -> str:
    """Return the newest version with which the member has joined: its data cannot be read by an older one.

    It may be in the database and not yet on record. A member whose volume was lost and replaced has no such data. The
    status is deleted with the cluster resource, and the record on the volume's claim is not; it counts where the status
    has none. The disasters this prevents: a cluster is created again with an older version, no process starts, and no
    message says why. Or someone writes another version on a claim in use, and its member is created with that version.
    """
    record, claim = obs.records.get(member.name), member.claim
    kept = claim.version if claim is not None and not (claim.left or claim.terminating) else ""
    before = (record.version if record is not None and not record.other_volume(claim) else "") or kept
    node = obs.database.nodes.get(member.name) if isinstance(obs.database, Database) else None
    return max(node.version if node is not None else "", before, key=parse)


def members_ahead(obs: Observation) -> list[Member]:
    """Return the members that have joined with a later version than the desired one.

    The disaster this prevents: an upgrade is reverted half-way, the old version starts on data that the new one has
    written, and never comes up again.
    """
    return [
        m for m in obs.members if m.workload is not None and newer(newest_joined_version(obs, m), obs.desired.version)
    ]
