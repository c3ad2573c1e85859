"""Decides what a change of storage means for each member.

A larger volume is requested in place and disturbs no member, whether the spec or a full disk asks for it. A smaller
one, a larger one that its storage class does not allow, another class, or the step between a volume and data in the pod
is impossible on the same member: a new member takes its place, or the change is refused if the user chose that.
"""

from stateward.api.values.quantity import readable
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.volume_fit import mismatch, ungrowable
from stateward.planning.model.actions import GrowVolume
from stateward.planning.model.intent import Intent, State, StepResult, Wait, intents_for, merge
from stateward.planning.model.observation import Claim, Effect, Member, Pool
from stateward.planning.steps.upkeep.volume_growth import Size, not_expandable, size_of


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
    sizes = {pool.name: size_of(facts, pool) for pool in facts.pools.values()}
    parts = [StepResult(waits=found.waits) for found in sizes.values()]
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
            parts.append(resize(facts.now, member, claim, pool, sizes[pool.name]))
    return merge(*parts)


def resize(now: float, member: Member, claim: Claim, pool: Pool, wanted: Size) -> StepResult:
    """Return what brings a volume to its size, or what is waited for until it has it."""
    size = max(wanted.size, claim.grown)
    if not claim.capacity:
        return StepResult()
    if claim.requested == size or is_irrevocable(claim, size):
        return still_growing(member, claim, size) if claim.capacity < claim.requested else StepResult()
    if claim.requested < size and not claim.expandable:
        return StepResult(waits=(not_expandable(member.name, claim),))
    why = wanted.why or f"its pool asks for {readable(size)}"
    by_itself = size > pool.volume_size
    action = GrowVolume(why=why, member=member.name, claim=claim.ref, size=size, at=now, by_itself=by_itself)
    return StepResult(actions=(action,), otherwise=growing_intent(member, size))


def is_irrevocable(claim: Claim, size: int) -> bool:
    """Return whether a growth that has not happened yet can no longer be taken back to a size.

    Kubernetes accepts another size only if it is larger than the present one, and before 1.32 only if it is larger than
    the last one. The disaster this prevents: a storage provider has no room for a growth, the user sets the old size
    again, the API server refuses it in each round, and what comes after it, such as a new member, is never done.
    Source: `ValidatePersistentVolumeClaimUpdate` of the API server.
    """
    return size <= claim.capacity < claim.requested


def still_growing(member: Member, claim: Claim, size: int) -> StepResult:
    """Return the state of a volume that does not have the size yet for which its claim asks."""
    text = claim.message
    if is_irrevocable(claim, size):
        why = f" ({claim.message})" if claim.message else ""
        text = (
            f"the volume grows to {readable(claim.requested)} although {readable(size)} is asked for again, because"
            f" Kubernetes does not take a growth back to the present size{why}"
        )
    waits = (Wait(member.name, "VolumeGrowing", text),) if text else ()
    return StepResult(otherwise=growing_intent(member, claim.requested), waits=waits)


def growing_intent(member: Member, size: int) -> dict[str, Intent]:
    """Return the intent of a member whose volume grows."""
    return intents_for(State.GROWING, [member], Effect.NONE, f"{{}}'s volume grows to {readable(size)}")
