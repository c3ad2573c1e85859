"""Decides what happens before a member with the only live copy of a unit stops (`update.singleCopy`).

only copy ──Move──▶ moved elsewhere ──▶ may restart
          ──Wait──▶ waits for the user
          ──Interrupt──▶ may restart: the copy is unavailable in between, not lost
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.facts.missing_members import loses_data_with_pod
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import Member, SoleCopy, Unit
from stateward.planning.safety.availability import sole_reason, sole_units
from stateward.planning.safety.health_gate import allowed_nodes


def sole_verdict(facts: Facts, member: Member, *, keeps: bool = False) -> str | None:
    """Return why a member with the only copy of a unit has to wait; None if it may stop.

    If the copy has no other place and the volume stays, a restart is the only way: the data is unavailable in between,
    not lost. It still waits while another member is down that may bring a copy back. A member that loses its data with
    its pod is drained instead, and never stops with an only copy, unless it `keeps` its pod.
    """
    units = sole_units(facts, member.name)
    if loses_data_with_pod(facts, member) and not keeps:
        kept = next((u for u in units if not move_targets(facts, u) and not is_moving_away(u, member.name)), None)
        return f"{sole_reason(facts, kept, member.name)}, which loses its data with its pod" if kept else None
    returning = next((u for u in units if u.wanted > 1 and facts.down - {member.name}), None)
    policy = facts.obs.desired.sole_copy
    accepted = policy is SoleCopy.INTERRUPT or (policy is SoleCopy.MOVE and is_only_data_member(facts, member))
    if not units or (accepted and returning is None):
        return None
    return sole_reason(facts, returning or units[0], member.name)


def is_only_data_member(facts: Facts, member: Member) -> bool:
    """Return whether no other member could hold data, including members that are down now."""
    nodes = facts.database.nodes.values() if facts.database else ()
    if any(node.data and node.name != member.name for node in nodes):
        return False
    return not any(m.present and m.name != member.name and facts.holds_data(m) for m in facts.obs.members)


def move_targets(facts: Facts, unit: Unit) -> list[str]:
    """Return the members in service that could take a copy of the unit, as far as is known, the emptiest first."""
    if facts.database is None:
        return []
    able = [name for name in allowed_nodes(facts.database, unit) if name in facts.up]
    return sorted(able, key=lambda name: (len(facts.units_of(name)), name))


def is_moving_away(unit: Unit, name: str) -> bool:
    """Return whether the member's copy of the unit is relocating to another member."""
    return any(copy.member == name and copy.target for copy in unit.copies)


def moves_for(facts: Facts, member: Member, drained: frozenset[str]) -> tuple[Move, ...]:
    """Return the moves that take the only copies of units off the member, never to a member that is being drained.

    Members of the same pool come first, and take turns: what only the database knows is most likely right for them.
    A copy that is still on its way to the member is moved when it has arrived. The disaster this prevents: it comes
    from a member that leaves, whose copies do not count any more, and the database refuses the move in each round.
    """
    found: list[Move] = []
    for unit in sole_units(facts, member.name):
        spots = [name for name in move_targets(facts, unit) if name not in drained]
        if spots and facts.holders[unit.name] == frozenset({member.name}) and not is_moving_away(unit, member.name):
            like = [name for name in spots if facts.members[name].pool == member.pool] or spots
            first = like[len(found) % len(like)]
            others = sorted((name for name in spots if name != first), key=lambda name, own=like: name not in own)
            found.append(Move(unit=unit.name, origin=member.name, target=first, others=tuple(others)))
    return tuple(found)


def droppable(facts: Facts, member: Member) -> bool:
    """Return whether the member may lose all its data: every unit has live copies on the others, and no other place.

    Without this rule a pool that keeps data in its pods, with as many members as copies, could never change.
    """
    units = facts.units_of(member.name)
    if sole_units(facts, member.name) or any(is_moving_away(u, member.name) for u in units):
        return False
    return not any(move_targets(facts, unit) for unit in units)
