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
    if any(selects_new_programs(pools[m.pool], m.config) for m in mine) and not stays_behind(pools, members, database):
        return ProtocolSwitch.SWITCHED
    ready = database is not None and not database.draining and len(mine) == len(members) > 0
    return ProtocolSwitch.SWITCHED if ready and not unprepared(pools, up, members) else ProtocolSwitch.BESIDE


def stays_behind(pools: Mapping[str, Pool], members: list[Member], database: Database | None) -> bool:
    """Return whether a member of a removed pool would not change with the others, and none of them has begun to.

    The disaster this prevents: a pool of logs is renamed when all is ready for the change, and before the processes
    stop. All others change, those logs go on with a version that nobody talks to, and there is no database without
    them. So these members leave first, and nothing has to be taken back: no process has stopped.
    """
    pool = next(iter(pools.values()))
    begun = any(m.pod is not None and m.pod.phase in BEGUN & COORDINATED for m in members)
    if begun or database is None:
        return False
    others = (m for m in members if m.pool not in pools)
    return any(
        m.pod is None or m.pod.phase not in COORDINATED or not selects_new_programs(pool, m.config) for m in others
    )


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
