"""Upgrades to a version that cannot talk to the deployed one: all processes change at one moment.

If pods changed one at a time, the database would be down from the first to the last. So:

    deployed ──pod by pod: the new programs beside the old ones──▶ beside ──all serve so──▶ switched
    switched ──in every pod, by its agent's word──▶ all stopped, all started ──one has joined──▶ images, pod by pod

No memory is needed: the progress follows from the members' inputs and from the versions they have joined with. Until
the first process stops, the upgrade can be reverted; after that the data has the new version, and a downgrade is
impossible.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from stateward.planning.facts.removals import active_removals
from stateward.planning.facts.upgrade_order import parse
from stateward.planning.model.observation import Database, Inputs, Member, Observation, Pool, ProtocolSwitch
from stateward.planning.model.phase import BEGUN, COORDINATED

PROGRAMS, PROGRAM = "beside", "program"
"""Names of inputs: which programs are beside those of the image, and which programs are run."""


def switch_progress(obs: Observation, up: AbstractSet[str], database: Database | None) -> ProtocolSwitch:
    """Return how far the cluster is on its way; `up` are the members that serve."""
    pools = {pool.name: pool for pool in obs.desired.pools if pool.crossings}
    members = [m for m in obs.members if m.alive or m.pod is not None]
    mine = [m for m in members if m.pool in pools]
    if not pools or any_member_switched(obs) or (mine and all(runs_new_programs(pools[m.pool], m) for m in mine)):
        return ProtocolSwitch.NONE
    if any(selects_new_programs(pools[m.pool], m.config) for m in mine) and not leaves_before(obs, database):
        return ProtocolSwitch.SWITCHED
    ready = database is not None and not database.draining and len(mine) == len(members) > 0
    return ProtocolSwitch.SWITCHED if ready and not unprepared(pools, up, members) else ProtocolSwitch.BESIDE


def leaves_before(obs: Observation, database: Database | None) -> bool:
    """Return whether a member leaves before all others change, although their next templates are written.

    Nothing has to be taken back for that: no process has stopped, and the database answers. The disasters this
    prevents: a pool of logs is renamed at that moment, its members go on with programs that no other process talks to,
    and there is no database without them; or a machine is lost, so the change waits for a healthy database, and the
    database for the successor of that machine's member, which would leave after the change.
    """
    members = [m for m in obs.members if m.alive or m.pod is not None]
    if database is None or any(m.pod is not None and m.pod.phase in BEGUN & COORDINATED for m in members):
        return False
    pools = {pool.name: pool for pool in obs.desired.pools if pool.crossings}
    removals, pool = active_removals(obs), next(iter(pools.values()))
    others = [m for m in members if m.pool not in pools]
    part = (m for m in others if m.pod is not None and m.pod.phase in COORDINATED)
    changing = [m for m in part if selects_new_programs(pool, m.config)]
    return len(changing) < len(others) or any(m.alive and m.name in removals for m in members)


def any_member_switched(obs: Observation) -> bool:
    """Return whether any member has joined with a version that talks to the desired one: no downgrade is possible."""
    wanted = protocol_of(obs.desired.version)
    return any(protocol_of(record.version) == wanted for record in obs.records.values())


def protocol_of(version: str) -> tuple[int, ...]:
    """Return what tells which versions talk to each other: major and minor."""
    return parse(version)[:2]


def runs_new_programs(pool: Pool, member: Member) -> bool:
    """Return whether the member runs the new programs, or will as soon as it has a pod."""
    switched = pool.crossings[ProtocolSwitch.SWITCHED]
    made_from = member.config if member.pod is None else member.pod.inputs
    return made_from is not None and made_from.get(PROGRAM) == switched.get(PROGRAM)


def selects_new_programs(pool: Pool, config: Inputs | None) -> bool:
    """Return whether a member's configuration makes it run the programs beside those of its image."""
    switched = pool.crossings[ProtocolSwitch.SWITCHED]
    return config is not None and all(config.get(name) == switched.get(name) for name in (PROGRAMS, PROGRAM))


def unprepared(pools: Mapping[str, Pool], up: AbstractSet[str], members: list[Member]) -> list[Member]:
    """Return the members that do not serve from a pod with both programs in it."""
    return [m for m in members if m.name not in up or not has_both_programs(pools.get(m.pool), m)]


def has_both_programs(pool: Pool | None, member: Member) -> bool:
    """Return whether the member's pod has the new programs beside its own."""
    if pool is None or member.pod is None or not pool.crossings:
        return False
    return member.pod.inputs.get(PROGRAMS) == pool.crossings[ProtocolSwitch.BESIDE].get(PROGRAMS)
