"""Marks the volumes that replaced members have left.

The list of replaced members is in the status of the cluster resource and is deleted with it, while volumes are kept.
The disaster this prevents: a recreated cluster takes the kept volumes with the lowest numbers, including those that
were left, and the only copy of a shard stays on a volume with a higher number.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.facts.removals import active_removals
from stateward.planning.facts.volume_fit import unfit
from stateward.planning.model.actions import Action, MarkVolume
from stateward.planning.model.intent import StepResult, Wait, merge
from stateward.planning.model.observation import Member
from stateward.planning.safety.health_gate import lost_units


def volume_marks(facts: Facts) -> StepResult:
    """Return the marks to set or remove on the volumes of members that are not in use."""
    listed = active_removals(facts.obs).keys()
    actions: list[Action] = []
    for member in facts.obs.members:
        claim = member.claim
        if claim is None or claim.terminating:
            continue
        if claim.left and member.alive:
            actions.append(MarkVolume(why="it is used again", member=member.name, claim=claim.ref, left=False))
        elif not claim.left and (member.name in listed or is_unfit(facts, member)) and is_abandoned(facts, member):
            actions.append(MarkVolume(why="its member was replaced", member=member.name, claim=claim.ref, left=True))
    return merge(StepResult(actions=tuple(actions)), pools_needed(facts))


def pools_needed(facts: Facts) -> StepResult:
    """Return the waits for kept volumes that may hold missing shards and belong to pools that the spec does not have.

    The disaster this prevents: a cluster is deleted while one of its pools gets another name, and created again. The
    new pool is empty, and no message says that all data is on the volumes of the old one.
    """
    missing = lost_units(facts.database) if facts.database is not None else []
    kept = [m for m in facts.obs.members if m.pool not in facts.pools and not m.present and m.claim is not None]
    held = [m for m in kept if missing and m.claim is not None and m.claim.capacity and not m.claim.left]
    text = (
        f"shard {missing[0]} has no started copy, and the kept volume of {{}} may hold the last one; it can"
        " only be used with pool {} in the spec"
        if missing
        else ""
    )
    return StepResult(waits=tuple(Wait(m.name, "PoolNeeded", text.format(m.name, m.pool), stalled=True) for m in held))


def is_unfit(facts: Facts, member: Member) -> bool:
    """Return whether the pool asks for another volume than the member has: an edit has replaced the member."""
    pool = facts.pools.get(member.pool)
    return pool is not None and unfit(pool, member)


def is_abandoned(facts: Facts, member: Member) -> bool:
    """Return whether a member is gone, and its volume is not one for which it may be brought back."""
    accepted = member.name in facts.obs.desired.replacement.accepted
    whole = facts.database is not None and not lost_units(facts.database)
    return not member.alive and member.pod is None and (whole or accepted)
