"""Can the data of members that leave go anywhere else: asked before anything is moved.

The disaster this prevents: a shrink that cannot end is begun, fills the disks of the members that stay up to the point
where the database takes no more writes, and is then neither done nor undone.
"""

from stateward.planning.facts import Facts
from stateward.planning.observation import CopyState, Database, Member, Unit

FULL = 0.85
"""Share of a disk that the database fills before it refuses more (its default low watermark)."""


def refuse(facts: Facts, new: list[Member], leaving: list[Member]) -> str | None:
    """Return why the data of `new` cannot go anywhere else when all of `leaving` are gone; None when it can."""
    database, names = facts.database, frozenset(m.name for m in leaving)
    units = {unit.name: unit for m in new for unit in facts.units_of(m.name)}
    if database is None or not units:
        return None
    rest = remaining(facts, database, names)
    if not rest:
        return "no data member would remain"
    for unit in units.values():
        copies = [c for c in unit.copies if c.state is not CopyState.UNASSIGNED]
        if not unit.flexible and len(copies) > len(rest):
            return f"shard {unit.name} has {len(copies)} copies and only {len(rest)} data members would remain"
    return no_room(database, names, {u.name: u for n in names for u in facts.units_of(n)})


def remaining(facts: Facts, database: Database, names: frozenset[str]) -> frozenset[str]:
    """Return the data members that would remain, those included that are only down now."""
    joined = {node.name for node in database.nodes.values() if node.data}
    back = {name for name in facts.down if facts.members[name].alive and facts.holds_data(facts.members[name])}
    return frozenset(joined | back) - names


def no_room(database: Database, names: frozenset[str], units: dict[str, Unit]) -> str | None:
    """Return why the disks of the remaining members cannot take the data; None also when disks are not known."""
    rest = [n for n in database.nodes.values() if n.data and n.name not in names and n.disk_total]
    if not rest:
        return None
    room = sum(max(0, n.disk_free - int(n.disk_total * (1 - FULL))) for n in rest)
    # A flexible unit gives a copy up rather than moving it; its last one moves.
    need = sum(
        u.size * min(sum(c.member in names for c in u.copies), 1 if u.flexible else len(u.copies))
        for u in units.values()
    )
    return f"{need} bytes have to move and only {room} are free on the remaining members" if need > room else None
