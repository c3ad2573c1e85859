"""Decides what a change of storage means for each member.

A larger volume is requested in place and disturbs no member. A smaller one, a larger one that its storage class does
not allow, another class, or the step between a volume and data in the pod is impossible on the same member: a new
member takes its place, or the change is refused if the user chose that.
"""

from stateward.api.values.quantity import readable
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.volume_fit import mismatch, ungrowable
from stateward.planning.model.actions import GrowVolume
from stateward.planning.model.intent import State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Claim, Effect, Member


def to_replace(facts: Facts, member: Member) -> str | None:
    """Return why the member's storage needs a new member; None if it fits or can grow."""
    pool = facts.pools.get(member.pool)
    if pool is None or member.workload is None:
        return None
    if member.claim is None:
        return "data moves from the pod to a volume" if facts.ephemeral(member) and not pool.ephemeral else None
    if pool.ephemeral:
        return "data moves from the volume into the pod"
    return mismatch(pool, member.claim)


def volumes(facts: Facts) -> StepResult:
    """Return the volumes to grow, and the waits: for the storage class, or for the refusal that the user chose."""
    parts: list[StepResult] = []
    for member in facts.obs.members:
        pool, claim = facts.pools.get(member.pool), member.claim
        if pool is None or member.workload is None:
            continue
        problem = to_replace(facts, member)
        small = claim is not None and problem is not None and problem == ungrowable(pool, claim)
        if small and not facts.obs.desired.replace_on_shrink:
            problem = None  # It may still grow, once its class allows that.
        if problem is not None and not facts.obs.desired.replace_on_shrink:
            wait = Wait(member.name, "VolumeRefused", f"refused: {problem}", stalled=True)
            parts.append(StepResult(waits=(wait,)))
        if problem is None and claim is not None and not claim.terminating:
            parts.append(resize(member, claim, pool.volume_size))
    return merge(*parts)


def resize(member: Member, claim: Claim, size: int) -> StepResult:
    """Return what brings a volume to its size, or what is waited for until it has it."""
    text = f"{{}}'s volume grows to {readable(size)}"
    if claim.requested == size or not claim.capacity:
        if not 0 < claim.capacity < claim.requested:
            return StepResult()
        waits = (Wait(member.name, "VolumeGrowing", claim.message),) if claim.message else ()
        return StepResult(otherwise=intents_for(State.GROWING, [member], Effect.NONE, text), waits=waits)
    if claim.requested < size and not claim.expandable:
        known = claim.expandable is False
        text = f"storage class {claim.storage_class} does not allow volumes to grow to {readable(size)}"
        unknown = f"whether storage class {claim.storage_class} allows volumes to grow is not known"
        reason = "VolumeNotExpandable" if known else "StorageClassUnknown"
        return StepResult(waits=(Wait(member.name, reason, text if known else unknown, stalled=known),))
    action = GrowVolume(why=f"its pool asks for {readable(size)}", member=member.name, claim=claim.ref, size=size)
    return StepResult(actions=(action,), otherwise=intents_for(State.GROWING, [member], Effect.NONE, text))
