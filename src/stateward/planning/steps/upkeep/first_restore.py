"""Restores the snapshot with which a new cluster begins: once in the life of the cluster.

    formed, all members serve ──▶ restore created ──all primaries restored──▶ recorded in the status

The restore is an object of its own, which refuses to write over an existing index. The cluster is not Ready before its
end, but no other step waits for it: a member that fails meanwhile is repaired.
"""

from stateward.api.values.problem import first_of
from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import RestoreSnapshot
from stateward.planning.model.intent import NOTHING, StepResult, Wait
from stateward.planning.model.observation import Restore, Unknown

SUBJECT, PATIENCE = "spec.bootstrap", 300.0
"""Seconds for which a restore may stall: its repository may be declared by an object that comes a moment later."""
NAMED = 3
"""Members that are named at once."""


def first_restore(facts: Facts) -> StepResult:
    """Return what the restore of a new cluster needs now."""
    obs = facts.obs
    origin, begun = obs.desired.from_snapshot, obs.bootstrap
    if not origin or facts.database is None or (begun is not None and begun.restored):
        return NOTHING
    return _create(facts, origin) if obs.restore is None else _follow(facts, origin, obs.restore)


def _create(facts: Facts, origin: str) -> StepResult:
    """Return the restore once all members serve, so that the database can spread the shards over them."""
    obs = facts.obs
    wanted = sum(pool.replicas for pool in obs.desired.pools)
    mine = [m.name for m in obs.members if m.alive and m.pool in facts.pools]
    away = [name for name in mine if name not in facts.up]
    if away or len(mine) < wanted:
        named = f"; not yet: {first_of(away, NAMED)}" if away else ""
        return _wait("MembersFirst", f"{origin} is restored when all {wanted} members serve{named}")
    why = f"the cluster is formed and begins with {origin}"
    return StepResult(
        actions=(RestoreSnapshot(why=why),), waits=(Wait(SUBJECT, "RestoringSnapshot", f"{why}: the restore begins"),)
    )


def _follow(facts: Facts, origin: str, found: Restore | Unknown) -> StepResult:
    if isinstance(found, Unknown):
        return _wait("RestoreUnknown", f"the restore of {origin} cannot be read: {found.why}")
    if not found.ours:
        text = f"the SearchRestore {found.name} exists and does not belong to this cluster; delete or rename it"
        return _wait("RestoreTaken", text, stalled=True)
    if found.done:
        return NOTHING
    if found.stalled:
        long = facts.seconds_waited(SUBJECT, "RestoreStalled") >= PATIENCE
        return _wait("RestoreStalled", f"the SearchRestore {found.name} stalls: {found.message}", stalled=long)
    return _wait("RestoringSnapshot", f"the cluster begins with {origin}: {found.message or 'the restore begins'}")


def _wait(reason: str, message: str, *, stalled: bool = False) -> StepResult:
    return StepResult(waits=(Wait(SUBJECT, reason, message, stalled=stalled),))
