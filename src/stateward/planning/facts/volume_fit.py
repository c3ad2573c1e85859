"""Decides whether an existing volume fits its pool, and whether a new member may start with it."""

from collections.abc import Iterable

from msgspec.structs import replace

from stateward.api.values.quantity import readable
from stateward.planning.model.observation import Claim, Database, Desired, Member, Pool

_ROLES = {"data": "data", "voting": "of a manager"}
"""The roles as messages name them."""


def with_grown_sizes(desired: Desired, members: Iterable[Member]) -> Desired:
    """Return the desired state with the size to which each pool's volumes have grown by themselves.

    The claims are the only record. A volume that a replaced member has left does not count.
    """
    grown: dict[str, int] = {}
    for member in members:
        if member.claim is not None and member.claim.grown and not (member.claim.left or member.claim.terminating):
            grown[member.pool] = max(grown.get(member.pool, 0), member.claim.grown)
    if not grown:
        return desired
    pools = (pool if pool.ephemeral else replace(pool, grown_size=grown.get(pool.name, 0)) for pool in desired.pools)
    return replace(desired, pools=tuple(pools))


def claim_mismatch(pool: Pool, claim: Claim) -> str | None:
    """Return why a claim cannot become what the pool asks for.

    A volume that was asked to grow and has not yet has its old size; a claim that is not bound cannot be asked for
    another size. If any class is acceptable, an unbound claim whose class does not exist is not waited for. The
    disaster this prevents: a misspelt class name that was then removed from the spec.
    """
    if pool.storage_class is not None and claim.storage_class and claim.storage_class != pool.storage_class:
        return f"storage class {claim.storage_class} becomes {pool.storage_class}"
    if pool.storage_class is None and claim.classless and claim.empty:
        return f"storage class {claim.storage_class}, which does not exist, becomes the default class"
    size = max(pool.wanted_size, claim.grown)
    if claim.requested > size and (claim.capacity > size or not claim.capacity):
        return f"the volume shrinks from {readable(claim.requested)} to {readable(size)}"
    return None


def ungrowable(pool: Pool, claim: Claim) -> str | None:
    """Return why a claim that is too small can never grow to the size in the spec; None if it may.

    A volume that is only smaller than those that have grown by themselves is no reason for a new member. A class that
    could not be read may allow it. If the pool names the very class that is gone, a new volume is impossible too.
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
    """Return why a claim cannot become what the pool asks for: another class, a smaller size, or an impossible one."""
    return claim_mismatch(pool, claim) or ungrowable(pool, claim)


def unfit(pool: Pool, member: Member) -> bool:
    """Return whether a claim with this ordinal exists and cannot become what the pool asks for."""
    claim = member.claim
    if claim is None:
        return False
    return claim.terminating or pool.ephemeral or has_other_roles(pool, member) or mismatch(pool, claim) is not None


def has_other_roles(pool: Pool, member: Member) -> bool:
    """Return whether a volume was made for other roles than those of the pool: its member would be replaced at once."""
    if not keeps_roles(pool, member):
        return lacks_roles(pool, member)
    roles = volume_roles(member)
    asked = {"data": pool.data, "voting": pool.voting, "voting_only": pool.only_votes}
    return bool(roles) and roles != frozenset(role for role in asked if asked[role])


def keeps_roles(pool: Pool, member: Member) -> bool:
    """Return whether a member that is made again gets the roles that its volume was made for, and not its pool's."""
    return bool(pool.kinds) and member.made_for is not None


def volume_roles(member: Member) -> frozenset[str]:
    """Return the roles that a volume was made for, and those of what has been written to it.

    The disaster this prevents: a lost claim is made again for the new roles of a pool while the pod that waits for it
    has the old ones, and writes data to it.
    """
    claim = member.claim
    marked = {"data": claim is not None and claim.data, "voting": claim is not None and claim.state}
    return (member.made_for or frozenset()) | {role for role, there in marked.items() if there}


def lacks_roles(pool: Pool, member: Member) -> bool:
    """Return whether the database does not start with the pool's roles on what the volume was made for.

    OpenSearch and Elasticsearch refuse data on a member without that role, and the state of indices on one that has
    neither that role nor a vote.
    """
    roles = volume_roles(member)
    return ("data" in roles and not pool.data) or bool(roles and not (pool.data or pool.voting))


def lacks_for_use(pool: Pool | None, member: Member, role: str) -> list[str]:
    """Return what the spec lacks for the member to use its volume in a role, as users would write it."""
    if pool is None:
        return [f"pool {member.pool}"]
    roles = [role] if role == "data" or not lacks_roles(pool, member) else [role, "data"]
    there = {"data": pool.data, "voting": pool.voting}
    lacking = [] if keeps_roles(pool, member) else [each for each in roles if not there[each]]
    kept = [f"storage.ephemeral: false for pool {pool.name}"] if pool.ephemeral else []
    return [*kept, *(f"the role {_ROLES[each]} for pool {pool.name}" for each in lacking)]


def is_skipped(pool: Pool, member: Member, database: Database | None) -> bool:
    """Return whether no new member starts with the kept volume of this ordinal.

    An unfit volume that may hold the last copy of a shard is used all the same: its member comes back, and is replaced
    once no shard is missing. The disaster this prevents: a cluster is deleted and created again with another size,
    forms on empty volumes, and all its data stays on the earlier volumes.
    """
    if not unfit(pool, member):
        return False
    return not usable(pool, member) or not may_hold_last_copy(pool, member, database)


def usable(pool: Pool, member: Member) -> bool:
    """Return whether a member of the pool could start with the volume, for any size and class.

    The disaster this prevents: a member is created on a volume with data and without the role, because no label says
    what it was made for. It never starts, and all others wait for it.
    """
    there = member.claim is not None and not member.claim.terminating
    return there and not pool.ephemeral and (keeps_roles(pool, member) or not lacks_roles(pool, member))


def may_hold_last_copy(pool: Pool, member: Member, database: Database | None) -> bool:
    """Return whether a kept volume may hold a shard that exists nowhere else: unknown is not absent.

    An empty claim holds nothing; one that a replaced member has left was left while no shard was missing.
    """
    claim = member.claim
    if claim is None or claim.empty or claim.left:
        return False
    data, voting = pool.data, pool.voting
    if keeps_roles(pool, member):
        data, voting = "data" in volume_roles(member), "voting" in volume_roles(member)
    if database is None:
        return data or voting
    return data and any(not any(copy.live for copy in unit.copies) for unit in database.units)
