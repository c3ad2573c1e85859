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
from stateward.planning.model.observation import Crossing, Database, Inputs, Member, Observation, Pool

PROGRAMS, PROGRAM = "beside", "program"
"""Names of inputs: which programs are beside those of the image, and which programs are run."""


def crossing(obs: Observation, up: AbstractSet[str], database: Database | None) -> Crossing:
    """Return how far the cluster is on its way; `up` are the members that serve."""
    pools = {pool.name: pool for pool in obs.desired.pools if pool.crossings}
    members = [m for m in obs.members if m.alive or m.pod is not None]
    mine = [m for m in members if m.pool in pools]
    if not pools or arrived(obs) or (mine and all(runs(pools[m.pool], m) for m in mine)):
        return Crossing.NONE
    if any(told(pools[m.pool], m.config) for m in mine):
        return Crossing.SWITCHED
    ready = database is not None and not database.draining and len(mine) == len(members) > 0
    return Crossing.SWITCHED if ready and not unprepared(pools, up, members) else Crossing.BESIDE


def arrived(obs: Observation) -> bool:
    """Return whether any member has joined with a version that talks to the desired one: no downgrade is possible."""
    wanted = series(obs.desired.version)
    return any(series(record.version) == wanted for record in obs.records.values())


def series(version: str) -> tuple[int, ...]:
    """Return what tells which versions talk to each other: major and minor."""
    return parse(version)[:2]


def runs(pool: Pool, member: Member) -> bool:
    """Return whether the member runs the new programs, or will as soon as it has a pod."""
    switched = pool.crossings[Crossing.SWITCHED]
    made_from = member.config if member.pod is None else member.pod.inputs
    return made_from is not None and made_from.get(PROGRAM) == switched.get(PROGRAM)


def told(pool: Pool, config: Inputs | None) -> bool:
    """Return whether a member's configuration makes it run the programs beside those of its image."""
    switched = pool.crossings[Crossing.SWITCHED]
    return config is not None and all(config.get(name) == switched.get(name) for name in (PROGRAMS, PROGRAM))


def unprepared(pools: Mapping[str, Pool], up: AbstractSet[str], members: list[Member]) -> list[Member]:
    """Return the members that do not serve from a pod with both programs in it."""
    return [m for m in members if m.name not in up or not both(pools.get(m.pool), m)]


def both(pool: Pool | None, member: Member) -> bool:
    """Return whether the member's pod has the new programs beside its own."""
    if pool is None or member.pod is None or not pool.crossings:
        return False
    return member.pod.inputs.get(PROGRAMS) == pool.crossings[Crossing.BESIDE].get(PROGRAMS)
