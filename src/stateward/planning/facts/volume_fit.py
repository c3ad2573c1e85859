"""Does a volume that is there fit what its pool asks for, and may a new member start with it."""

from stateward.api.values.quantity import readable
from stateward.planning.model.observation import Claim, Database, Member, Pool


def claim_mismatch(pool: Pool, claim: Claim) -> str | None:
    """Return why a claim cannot become what the pool asks for.

    A volume that was asked to grow and has not yet may still be asked for its old size; one that is not bound to a disk
    cannot be asked for another size at all. Where any class will do, one that is not bound and whose class is gone, or
    never was, is not waited for: the disaster this prevents is a name that was misspelt, and taken back to none.
    """
    if pool.storage_class is not None and claim.storage_class and claim.storage_class != pool.storage_class:
        return f"storage class {claim.storage_class} becomes {pool.storage_class}"
    if pool.storage_class is None and claim.classless and not claim.capacity:
        return f"storage class {claim.storage_class}, which does not exist, becomes the default class"
    if claim.requested > pool.volume_size and (claim.capacity > pool.volume_size or not claim.capacity):
        return f"the volume shrinks from {readable(claim.requested)} to {readable(pool.volume_size)}"
    return None


def ungrowable(pool: Pool, claim: Claim) -> str | None:
    """Return why a claim that is too small never grows to what the pool asks for; None when it may.

    A class that could not be read may allow it. Where the pool names the very class that is gone, a new volume could
    not be had either.
    """
    if not claim.capacity or claim.requested >= pool.volume_size:
        return None
    sizes = f"from {readable(claim.requested)} to {readable(pool.volume_size)}"
    if claim.expandable is False:
        return f"storage class {claim.storage_class} does not allow the volume to grow {sizes}"
    if claim.classless and pool.storage_class is None:
        return f"storage class {claim.storage_class} is gone, so the volume cannot grow {sizes}"
    return None


def mismatch(pool: Pool, claim: Claim) -> str | None:
    """Return why a claim cannot become what the pool asks for: another class, a smaller size, or one it cannot have."""
    return claim_mismatch(pool, claim) or ungrowable(pool, claim)


def unfit(pool: Pool, member: Member) -> bool:
    """Return whether a claim of this ordinal is there and cannot become what the pool asks for."""
    claim = member.claim
    if claim is None:
        return False
    return claim.terminating or pool.ephemeral or mismatch(pool, claim) is not None


def passed_over(pool: Pool, member: Member, database: Database | None) -> bool:
    """Return whether no new member starts with the volume that was kept under this ordinal.

    One that is unfit and may hold the last copy of something is used all the same: its member comes back, and is
    replaced once nothing is missing. The disaster this prevents: a cluster is deleted and made again with another size,
    forms anew on empty volumes, and everything that it held stays on the volumes of before.
    """
    if not unfit(pool, member):
        return False
    return not usable(pool, member) or not may_hold_last_copy(pool, member, database)


def usable(pool: Pool, member: Member) -> bool:
    """Return whether a member of the pool could start with the volume, whatever its size and class."""
    return member.claim is not None and not member.claim.terminating and not pool.ephemeral


def may_hold_last_copy(pool: Pool, member: Member, database: Database | None) -> bool:
    """Return whether something may be on a kept volume that is nowhere else: unknown is not absent.

    One that was never bound holds nothing; one that a replaced member has left was left while nothing was missing.
    """
    claim = member.claim
    if claim is None or not claim.capacity or claim.left:
        return False
    if database is None:
        return pool.data or pool.voting
    return pool.data and any(not any(copy.live for copy in unit.copies) for unit in database.units)
