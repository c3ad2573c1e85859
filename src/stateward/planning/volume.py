"""Bigger, smaller, other: what a change of storage means for each member.

A larger volume is asked for in place and disturbs nobody. A smaller one, another class, or the step between a volume
and data in the pod cannot be had on the same member: a new member takes its place, or the change is refused when the
user said so.
"""

from stateward.planning.actions import Action, GrowVolume
from stateward.planning.facts import Facts
from stateward.planning.intent import Intent, Part, State, Wait
from stateward.planning.observation import Claim, Member, Pool


def mismatch(pool: Pool, member: Member) -> str | None:
    """Return why the member's storage can only be had on a new member; None when it fits or can grow."""
    if member.workload is None:
        return None
    if member.claim is None:
        is_ephemeral = member.pod is not None
        return "data moves from the pod to a volume" if is_ephemeral and not pool.ephemeral else None
    if pool.ephemeral:
        return "data moves from the volume into the pod"
    return claim_mismatch(pool, member.claim)


def claim_mismatch(pool: Pool, claim: Claim) -> str | None:
    """Return why a claim cannot become what the pool asks for."""
    if pool.storage_class is not None and claim.storage_class and claim.storage_class != pool.storage_class:
        return f"storage class {claim.storage_class} becomes {pool.storage_class}"
    if max(claim.requested, claim.capacity) > pool.volume_size and claim.requested != pool.volume_size:
        return f"the volume shrinks from {claim.requested} to {pool.volume_size} bytes"
    return None


def to_replace(facts: Facts) -> dict[str, str]:
    """Return the members whose storage needs a new member in their place, with the reason."""
    found: dict[str, str] = {}
    for member in facts.obs.members:
        pool = facts.pools.get(member.pool)
        reason = mismatch(pool, member) if pool else None
        if reason:
            found[member.name] = reason
    return found


def volumes(facts: Facts) -> Part:
    """Return the volumes to grow, and what waits: for the storage class, or for the refusal the user asked for."""
    actions: list[Action] = []
    intents: dict[str, Intent] = {}
    waits: list[Wait] = []
    for member in facts.obs.members:
        pool, claim = facts.pools.get(member.pool), member.claim
        if pool is None or claim is None or member.workload is None or pool.ephemeral or claim.terminating:
            continue
        if claim.requested < pool.volume_size and claim_mismatch(pool, claim) is None:
            if claim.expandable is False:
                text = f"storage class {claim.storage_class} does not allow volumes to grow to {pool.volume_size} bytes"
                waits.append(Wait(member.name, "VolumeNotExpandable", text, stalled=True))
            elif claim.expandable:
                why = f"its pool asks for {pool.volume_size} bytes"
                actions.append(GrowVolume(why=why, member=member.name, claim=claim.ref, size=pool.volume_size))
        elif 0 < claim.capacity < claim.requested:
            text = f"{member.name}'s volume grows to {claim.requested} bytes"
            intents[member.name] = Intent(member.name, member.pool, State.GROWING, sentence=text)
            if claim.message:
                waits.append(Wait(member.name, "VolumeGrowing", claim.message))
    if not facts.obs.desired.replace_on_shrink:
        waits += [Wait(n, "VolumeRefused", f"refused: {why}", stalled=True) for n, why in to_replace(facts).items()]
    return Part(actions=tuple(actions), intents=intents, waits=tuple(waits))
