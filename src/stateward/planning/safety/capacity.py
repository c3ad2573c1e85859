"""Checks, before any data moves, that the remaining members can hold the data of the members that leave.

The disaster this prevents: a shrink that cannot finish fills the disks of the remaining members until the database
stops accepting writes, and can then neither finish nor be reverted.
"""

from collections.abc import Set as AbstractSet

from stateward.api.values.quantity import readable
from stateward.planning.facts.facts import Facts
from stateward.planning.model.observation import Database, Member, Unit

FULL = 0.85
"""Share of a disk that the database fills before it refuses more (its default low watermark)."""


def capacity_problem(facts: Facts, new: list[Member], leaving: list[Member], replaced: frozenset[str]) -> str | None:
    """Return why the remaining members cannot hold the data of `new` once all of `leaving` are gone; None if they can.

    A member of `leaving` that is also in `replaced` does not reduce the number of members: another one has joined for
    it.
    """
    database, names = facts.database, frozenset(m.name for m in leaving)
    holding = [m for m in leaving if m.name in facts.obs.records and facts.holds_data(m)]
    if database is None or not any(m in new for m in holding):
        return None
    rest = remaining_data_members(facts, database, names)
    if not rest and database.units:
        return "no data member would remain"
    for unit in database.units:
        # Count the copies that the unit can have now, including those of unavailable members, not the number it should
        # have: a unit with more replicas than members never gets them, before or after.
        copies = min(unit.wanted, len(rest) + sum(m.name not in replaced for m in holding))
        if not unit.flexible and copies > len(rest):
            return f"shard {unit.name} has {copies} copies and only {len(rest)} data members would remain"
    return disk_problem(database, names, {u.name: u for n in names for u in units_to_move(facts, n, rest)})


def units_to_move(facts: Facts, name: str, rest: frozenset[str]) -> list[Unit]:
    """Return the units that must move off a member before it may leave: all that could be elsewhere.

    A unit with a live copy on each of `rest` has no other place for this copy, and loses nothing with it. The disaster
    this prevents: the only data member is replaced, the new member gets a second copy, and the old one can neither move
    its copies nor leave. A relocating copy does not count as a copy on its source: it may arrive on the leaving member
    before that leaves, and be the only one.
    """
    return [u for u in facts.units_of(name) if u.flexible or not rest or not rest <= staying_holders(u)]


def staying_holders(unit: Unit) -> frozenset[str]:
    """Return the members with a live copy of a unit that is not on its way to another member."""
    return frozenset(copy.member for copy in unit.copies if copy.live and not copy.target)


def remaining_data_members(facts: Facts, database: Database, names: AbstractSet[str]) -> frozenset[str]:
    """Return the data members that would remain, those included that are only down now."""
    joined = {node.name for node in database.nodes.values() if node.data}
    back = {name for name in facts.down if facts.members[name].alive and facts.holds_data(facts.members[name])}
    return frozenset(joined | back) - names


def disk_problem(database: Database, names: frozenset[str], units: dict[str, Unit]) -> str | None:
    """Return why the disks of the remaining members cannot hold the data; None also if the disks are not known."""
    rest = [n for n in database.nodes.values() if n.data and n.name not in names and n.disk_total]
    if not rest:
        return None
    room = sum(max(0, n.disk_free - int(n.disk_total * (1 - FULL))) for n in rest)
    # A flexible unit drops a copy instead of moving it; only its last copy moves.
    need = sum(
        u.size * min(sum(c.member in names for c in u.copies), 1 if u.flexible else len(u.copies))
        for u in units.values()
    )
    if need <= room:
        return None
    return f"{readable(need)} have to move and only {readable(room)} are free on the remaining members"
