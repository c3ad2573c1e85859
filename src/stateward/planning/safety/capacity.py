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
        spots = spots_of(facts, unit, rest)
        going = spots_of(facts, unit, rest | {m.name for m in holding if m.name not in replaced}) - rest
        copies = min(unit.wanted, len(spots) + len(going))
        if not unit.flexible and copies > len(spots):
            such = "data members" if spots == rest else "data members that may take it"
            return f"shard {unit.name} has {copies} copies and only {len(spots)} {such} would remain"
    return disk_problem(database, names, {u.name: u for n in names for u in units_to_move(facts, n, rest)})


def spots_of(facts: Facts, unit: Unit, names: frozenset[str]) -> frozenset[str]:
    """Return which of these members may hold copies of a unit, as far as is known: those that are down may.

    If none of them may now, all count: once a tier has no node, the database may choose the next one.
    """
    if unit.places is None:
        return names
    return frozenset(name for name in names if name in unit.places or facts.node(name) is None) or names


def units_to_move(facts: Facts, name: str, rest: frozenset[str]) -> list[Unit]:
    """Return the units that must move off a member before it may leave: all that could be elsewhere.

    A unit with a live copy on each of `rest` has no other place for this copy, and loses nothing with it. The disaster
    this prevents: the only data member is replaced, the new member gets a second copy, and the old one can neither move
    its copies nor leave. A relocating copy does not count as a copy on its source: it may arrive on the leaving member
    before that leaves, and be the only one.
    """
    found: list[Unit] = []
    for unit in facts.units_of(name):
        spots = spots_of(facts, unit, rest)
        if unit.flexible or not spots or not spots <= staying_holders(unit):
            found.append(unit)
    return found


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
    # All units together, and those that only some of the members may take.
    for places in (None, *dict.fromkeys(u.places for u in units.values() if u.places is not None)):
        able = [n for n in rest if places is None or n.name in places] or rest
        room = sum(max(0, n.disk_free - int(n.disk_total * (1 - FULL))) for n in able)
        moving = [u for u in units.values() if places is None or u.places == places]
        need = sum(size_to_move(u, names) for u in moving)
        if need > room:
            return f"{readable(need)} have to move and only {readable(room)} are free on the remaining members"
    return None


def size_to_move(unit: Unit, names: frozenset[str]) -> int:
    """Return the bytes of a unit that leave these members; of a flexible one only the last copy moves."""
    return unit.size * min(sum(c.member in names for c in unit.copies), 1 if unit.flexible else len(unit.copies))
