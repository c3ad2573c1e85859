"""Decides when the volumes of a pool grow by themselves, and how large they become (`storage.grow`).

    room ──fullest disk at `when`──▶ due ──class, interval and limit allow it──▶ larger size ──▶ every volume grows
      ▲                                                                                               │
      └───────────────────────────────── all volumes have the new size ───────────────────────────────┘

It only decides the size; `volume_change` makes the volumes as large, as after an edit of `storage.size`. All volumes of
a pool grow together: the database spreads shards over equal nodes, and new members get the same size. Nothing grows on
a disk that is not known, and nothing while a volume of the pool still grows. The size is recorded on each claim in the
write that asks for it, so a decision cannot be lost or taken twice.
"""

from collections.abc import Iterator

from msgspec import Struct

from stateward.api.values.quantity import readable
from stateward.planning.facts.facts import Facts
from stateward.planning.model.intent import Wait
from stateward.planning.model.observation import Claim, Growth, Pool
from stateward.planning.model.times import rfc3339
from stateward.planning.steps.upkeep.disk_use import DiskUse, behind, fullest, unlimited
from stateward.planning.steps.upkeep.fill_rate import fill_rate

INTERVAL = 6 * 3600.0
"""Seconds between two changes of a volume.

Source: Amazon EBS allows the next modification of a volume six hours after the last one; others allow it earlier.
"""
_UNITS = (2**30, 2**20)
"""Sizes are whole numbers of these, as providers allocate them."""


class Size(Struct, frozen=True):
    """The size that the volumes of a pool should have now, and why it is not another one."""

    size: int
    why: str = ""
    """Why they grow now, as a clause; empty if they do not."""
    waits: tuple[Wait, ...] = ()


def size_of(facts: Facts, pool: Pool) -> Size:
    """Return the size of the pool's volumes: as it is, or larger if its fullest disk is due."""
    as_is = Size(pool.wanted_size)
    use = fullest(facts, pool) if pool.growth is not None else None
    if pool.growth is None or use is None or not is_due(pool.growth, use):
        return as_is
    text = f"{use.member} uses {use.percent}% of its disk"
    wait = next(holds(facts, pool, pool.growth, use), None)
    if wait is not None:
        return Size(as_is.size, waits=(Wait(pool.name, wait.reason, f"{text}, and {wait.message}", wait.stalled),))
    size = larger(pool, pool.growth, use, expected_bytes(facts, pool))
    return Size(size, f"{text}, and storage.grow asks for {readable(size)}")


def is_due(growth: Growth, use: DiskUse) -> bool:
    """Return whether a disk is as full as the pool allows."""
    return use.used * 100 >= use.total * growth.when


def growing(facts: Facts, pool: Pool) -> str | None:
    """Return a member whose volume does not have the pool's size yet; None if all have it."""
    found = volumes_of(facts, pool).items()
    return next((name for name, c in found if 0 < c.capacity < max(c.requested, pool.wanted_size)), None)


def volumes_of(facts: Facts, pool: Pool) -> dict[str, Claim]:
    """Return the volumes of a pool's members, by member."""
    mine = (m for m in facts.obs.members if m.pool == pool.name and m.workload is not None)
    return {m.name: m.claim for m in mine if m.claim is not None}


def holds(facts: Facts, pool: Pool, growth: Growth, use: DiskUse) -> Iterator[Wait]:
    """Yield what keeps the volumes from growing although a disk is due; the subject is left to the caller."""
    if (name := growing(facts, pool)) is not None:
        yield Wait("", "VolumeGrowing", f"the volume of {name} still grows")
    if (why := behind(use)) is not None:
        yield Wait("", "VolumeGrowing", why)
    if (why := unlimited(use)) is not None:
        yield Wait("", "VolumeNotMeasured", why, stalled=True)
    if base(pool, use) >= growth.limit:
        yield Wait("", "GrowthLimitReached", f"storage.grow.max is {readable(growth.limit)}", stalled=True)
    claims = volumes_of(facts, pool).values()
    for claim in sorted(claims, key=lambda c: c.expandable is None):
        if not claim.expandable:
            yield not_expandable("", claim)
    changes = (claim.resized for claim in claims if claim.resized is not None)
    again = max(changes, default=-INTERVAL) + INTERVAL
    if facts.now < again:
        yield Wait("", "VolumeChangedRecently", f"its volumes may change again at {rfc3339(again)}")


def not_expandable(subject: str, claim: Claim) -> Wait:
    """Return the wait for a storage class that does not allow volumes to grow, or that could not be read."""
    name = (
        f"storage class {claim.storage_class}" if claim.storage_class else "its volume's storage class (it names none)"
    )
    if claim.expandable is False:
        return Wait(subject, "VolumeNotExpandable", f"{name} does not allow volumes to grow", stalled=True)
    return Wait(subject, "StorageClassUnknown", f"whether {name} allows volumes to grow is not known")


def base(pool: Pool, use: DiskUse) -> int:
    """Return the present size: some drivers provide more than was asked for."""
    return max(pool.wanted_size, use.claim.capacity)


def expected_bytes(facts: Facts, pool: Pool) -> int:
    """Return how many bytes the disk probably gets until its volume may grow again; 0 if that is not known."""
    rate = fill_rate(facts.obs.disk_samples.get(pool.name, ()))
    return max(0, int((rate or 0.0) * INTERVAL))


def larger(pool: Pool, growth: Growth, use: DiskUse, expected: int) -> int:
    """Return the next size: as many steps as bring the disk below `when` until the next change is possible."""
    size = before = base(pool, use)
    needed = before * (use.used + expected) * 100 // (use.total * growth.when)
    while size == before or (size <= needed and size < growth.limit):
        size = -(-size * (100 + growth.by) // 100)
    return min(whole(size), growth.limit)


def whole(size: int) -> int:
    """Return a size as a whole number of gibibytes, or of mebibytes below one, rounded up."""
    unit = next((unit for unit in _UNITS if size >= unit), 1)
    return -(-size // unit) * unit
