"""What the page shows of a database: shards and disks by member. Pure, and made once for each answer.

An answer of ten thousand shards takes a tenth of a second. The page keeps and sends only what it draws.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from stateward.planning.model.observation import Copy, CopyState, Database

DRAWN = 40
"""Shards of a member that are drawn one by one."""


class Shard(Struct, frozen=True, rename="camel"):
    """One copy of a shard on a member."""

    name: str
    primary: bool
    moving: bool
    """Whether it is being copied to or from the member."""


class MemberData(Struct, frozen=True):
    """What one member has."""

    first: tuple[Shard, ...] = ()
    """Those that are drawn; `shards` is the number of all, `primaries` and `moving` of those of a kind."""
    shards: int = 0
    primaries: int = 0
    moving: int = 0
    disk_used: int = 0
    disk_total: int = 0
    """Bytes; 0 if they are not known."""


class Summary(Struct, frozen=True):
    """What a database reports, as far as the page shows it."""

    leader: str
    members: Mapping[str, MemberData]
    shards: int
    unassigned: int
    """Copies of shards that no member has."""


def summary(database: Database) -> Summary:
    """Return what the page shows of a database."""
    copies = copies_by_member(database)
    names = copies.keys() | database.nodes.keys()
    return Summary(
        leader=database.leader,
        members={name: _member(database, name, copies.get(name, ())) for name in names},
        shards=len(database.units),
        unassigned=sum(copy.state is CopyState.UNASSIGNED for unit in database.units for copy in unit.copies),
    )


def _member(database: Database, name: str, copies: Sequence[Shard]) -> MemberData:
    node = database.nodes.get(name)
    total = node.disk_total if node is not None else 0
    return MemberData(
        first=tuple(copies[:DRAWN]),
        shards=len(copies),
        primaries=sum(shard.primary for shard in copies),
        moving=sum(shard.moving for shard in copies),
        disk_used=total - node.disk_free if node is not None and total else 0,
        disk_total=total,
    )


def copies_by_member(database: Database) -> Mapping[str, Sequence[Shard]]:
    """Return the copies that each member has or is getting, by member, in the order of shards."""
    found: dict[str, list[Shard]] = {}
    for unit in sorted(database.units, key=lambda unit: unit.name):
        for copy in unit.copies:
            for member, moving in _places(copy):
                found.setdefault(member, []).append(Shard(unit.name, copy.primary and not moving, moving))
    return found


def _places(copy: Copy) -> Iterable[tuple[str, bool]]:
    """Yield the members that have a copy or are getting it, and whether it is on its way."""
    if copy.member and copy.state is not CopyState.UNASSIGNED:
        yield copy.member, copy.state is CopyState.INITIALIZING
    if copy.target and copy.state is CopyState.RELOCATING:
        yield copy.target, True
