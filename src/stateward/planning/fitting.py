"""Does a volume that is there fit what its pool asks for."""

from stateward.api.quantity import readable
from stateward.planning.observation import Claim, Member, Pool


def claim_mismatch(pool: Pool, claim: Claim) -> str | None:
    """Return why a claim cannot become what the pool asks for.

    A volume that was asked to grow and has not yet may still be asked for its old size; one that is not bound to a disk
    cannot be asked for another size at all. Where any class will do, one that is not bound and whose class is gone, or
    never was, is not waited for: the disaster this prevents is a name that was misspelt, and taken back to none.
    """
    if pool.storage_class is not None and claim.storage_class and claim.storage_class != pool.storage_class:
        return f"storage class {claim.storage_class} becomes {pool.storage_class}"
    if pool.storage_class is None and claim.classless and not claim.capacity:
        return f"storage class {claim.storage_class}, which there is not, becomes the default one"
    if claim.requested > pool.volume_size and (claim.capacity > pool.volume_size or not claim.capacity):
        return f"the volume shrinks from {readable(claim.requested)} to {readable(pool.volume_size)}"
    return None


def unfit(pool: Pool, member: Member) -> bool:
    """Return whether a claim of this ordinal is there and cannot become what the pool asks for."""
    if member.claim is None:
        return False
    return member.claim.terminating or pool.ephemeral or claim_mismatch(pool, member.claim) is not None
