"""Releases a member without data and without a vote.

empty ──scaled to zero──▶ pod stopped ──volume deleted, where that was asked for──▶ forgotten
"""

from stateward.planning.facts.change import member_version
from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Action, Create, DeleteVolume, Forget, Release
from stateward.planning.model.intent import Part, State, Wait, merge, told
from stateward.planning.model.observation import Claim, Effect, Member
from stateward.planning.safety.health_gate import lost


def release(facts: Facts, member: Member, why: str) -> Part:
    """Let a member go: scale it to zero, and when its pod is gone, forget it."""
    if not member.alive and member.pod is None:
        return forget(facts, [member])
    actions: tuple[Action, ...] = ()
    if member.alive and member.workload is not None:
        actions = (Release(why=why, member=member.name, workload=member.workload.ref),)
    text = f"{{}} holds no data without another copy, and leaves ({why})"
    return Part(actions=actions, intents=told(State.LEAVING, [member], Effect.REPLACE, text))


def forget(facts: Facts, gone: list[Member]) -> Part:
    """Return the removal of the objects of members whose pods are gone; the volume first, while its owner is known.

    The disaster this prevents: a StatefulSet that a user scaled to zero looks like a drained one, and its volume holds
    the last copy of a shard. Such a member is brought back, and then leaves in the normal way.
    """
    missing, accepted = lost(facts.database) if facts.database else [], facts.obs.desired.replacement.accepted
    held = {m.name for m in gone if missing and kept(facts, m) and m.name not in accepted}
    return merge(*(hold_on(facts, m, missing[0]) if m.name in held else removed(facts, m) for m in gone))


def kept(facts: Facts, member: Member) -> bool:
    """Return whether the member's volume may hold a shard that the database is missing."""
    return member.claim is not None and not facts.blank(member) and facts.holds_data(member)


def hold_on(facts: Facts, member: Member, missing: str) -> Part:
    """Return the next step of a member whose volume may hold the last copy: it comes back, or stays as it is.

    It leaves again when no shard is missing, so it does not come back forever.
    """
    why, pool = f"its volume may hold the last copy of shard {missing}", facts.pools.get(member.pool)
    if pool is None or member.name not in facts.obs.records:
        return stay([member], "MayHoldLastCopy", why)
    version = member_version(facts, member, pool)
    action = Create(
        why=why,
        member=member.name,
        pool=pool.name,
        ordinal=member.ordinal,
        version=version,
        crossing=facts.crossing,
    )
    return Part(actions=(action,), intents=told(State.CREATING, [member], Effect.NONE, f"{{}} is brought back: {why}"))


def removed(facts: Facts, member: Member) -> Part:
    """Return the removal of what is left of one member."""
    claim, actions = volume_to_delete(facts, member), list[Action]()
    if claim is not None:
        why = "nothing was written to it" if facts.blank(member) else "volumes of members that left are not kept"
        actions.append(DeleteVolume(why=why, member=member.name, claim=claim.ref))
    workload = member.workload.ref if member.workload else None
    actions.append(Forget(why="its pod is gone", member=member.name, workload=workload))
    return Part(actions=tuple(actions), intents=told(State.LEAVING, [member], Effect.REPLACE, "{} is gone"))


def volume_to_delete(facts: Facts, member: Member) -> Claim | None:
    """Return the claim to delete with the member: if the user asked for it, or if no data was ever written to it."""
    claim = member.claim
    unwanted = facts.obs.desired.delete_volumes or facts.blank(member)
    return claim if claim is not None and unwanted and not claim.terminating else None


def stay(members: list[Member], code: str, reason: str, *, stalled: bool = False, claimed: Part | None = None) -> Part:
    """Return a part in which members that should leave wait for one reason; with `claimed` no other may touch them."""
    intents = told(State.LEAVING, members, Effect.REPLACE, f"{{}} cannot leave yet: {reason}")
    waits = tuple(Wait(m.name, code, f"{m.name} cannot leave yet: {reason}", stalled) for m in members)
    if claimed is None:
        return Part(otherwise=intents, waits=waits)
    return merge(claimed, Part(intents=intents, waits=waits))
