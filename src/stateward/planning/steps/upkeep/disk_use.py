"""How full the disks of a pool are, and whether a disk is the volume of its member.

The fullest disk decides, because the database stops placing shards on a single full node. Used is what is not available
to the database, as its own watermarks count it.
"""

from collections.abc import Iterator

from msgspec import Struct

from stateward.api.values.quantity import readable
from stateward.planning.facts.facts import Facts
from stateward.planning.model.observation import Claim, Member, Node, Pool

LARGEST_PERCENT = 105
"""A disk that is larger than this share of its volume is not limited to it."""
SMALLEST_PERCENT = 80
"""A disk that is smaller than this share of its volume has a file system that has not grown with it.

ext4 takes up to 6 % of a small volume for its inodes, and the database may not use what is reserved for root.
"""


class DiskUse(Struct, frozen=True):
    """The disk of one member; sizes in bytes."""

    member: str
    claim: Claim
    used: int
    total: int

    @property
    def percent(self) -> int:
        """How full it is, rounded down."""
        return self.used * 100 // self.total


def fullest(facts: Facts, pool: Pool) -> DiskUse | None:
    """Return the fullest disk of a pool; None if no disk is known. A member that leaves does not count."""
    return max(disks(facts, pool), key=lambda use: (use.used / use.total, use.member), default=None)


def disks(facts: Facts, pool: Pool) -> Iterator[DiskUse]:
    """Yield the known disks of the volumes that have the pool's size."""
    for member in facts.obs.members:
        node, claim = facts.node(member.name), member.claim
        if node is None or claim is None or not is_counted(facts, pool, member, claim) or not is_known(node):
            continue
        yield DiskUse(member.name, claim, node.disk_total - node.disk_free, node.disk_total)


def is_counted(facts: Facts, pool: Pool, member: Member, claim: Claim) -> bool:
    """Return whether a member of the pool stays, on a volume that is not too large for the pool."""
    draining = facts.database.draining if facts.database is not None else frozenset[str]()
    stays = member.alive and member.name not in draining and member.name not in facts.obs.removals
    fits = claim.capacity > 0 and claim.requested <= pool.wanted_size
    return member.pool == pool.name and stays and fits and not claim.terminating


def is_known(node: Node) -> bool:
    """Return whether the database reports the use of a node's disk: no total, and no impossible one."""
    return node.disk_total > 0 and 0 <= node.disk_free <= node.disk_total


def unlimited(use: DiskUse) -> str | None:
    """Return why the disk of a member is not its volume; None if it is."""
    if use.total * 100 <= use.claim.capacity * LARGEST_PERCENT:
        return None
    return (
        f"{use.member} has a disk of {readable(use.total)} behind a volume of {readable(use.claim.capacity)}, so"
        " another size would change nothing"
    )


def behind(use: DiskUse) -> str | None:
    """Return why the report about a disk is from before its volume grew; None if it is not."""
    if use.total * 100 >= use.claim.capacity * SMALLEST_PERCENT:
        return None
    return (
        f"{use.member} reports a disk of {readable(use.total)}, and its volume has {readable(use.claim.capacity)}"
        " already"
    )
