"""Which members may be down at this instant, together with those that already are.

This prevents the disasters that other guards cannot see one by one: two loops that each take "just one" member, a
restart that takes the last live copy of a shard, a manager too many. It counts everything that is down or on its way
down, for whatever reason. Each predicate is a small function over one observation that returns its reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from stateward.planning.facts import Facts
from stateward.planning.observation import Member, Unit

EXACT_LIMIT = 16
"""Candidates up to which the largest set is searched exactly; beyond, in order, zone by zone."""


class Choice(Struct, frozen=True):
    """The members that may go down now, and for each other candidate why not."""

    chosen: tuple[str, ...]
    held: Mapping[str, str]


def live_holders(unit: Unit, gone: frozenset[str]) -> frozenset[str]:
    """Return the members with a live copy of the unit, without those that are gone."""
    return frozenset(copy.member for copy in unit.copies if copy.live and copy.member not in gone)


def sole_units(facts: Facts, name: str, gone: frozenset[str] = frozenset()) -> list[Unit]:
    """Return the units that would keep too few live copies if the member went down on top of those that are gone."""
    need = facts.obs.desired.min_live_copies
    database = facts.database
    if database is None:
        return []
    found: list[Unit] = []
    for unit in database.units:
        holders = live_holders(unit, gone)
        if name in holders and len(holders) - 1 < min(need, max(1, unit.wanted - 1)):
            found.append(unit)
    return found


def quorum_without(facts: Facts, gone: Iterable[str]) -> bool:
    """Return whether the voters that remain are still a majority of the committed voting configuration."""
    database = facts.database
    if database is None:
        return False
    remaining = {v for v in database.voters if v in database.nodes} - set(gone)
    return len(remaining) > len(database.voters) // 2


def voter_problem(facts: Facts, member: Member, gone: frozenset[str]) -> str | None:
    """Return why a voter must stay: one voter at a time, only when all others are there, and never the quorum."""
    database = facts.database
    if database is None or not facts.votes(member):
        return None
    missing = (database.voters | voting_members(facts)) & (gone | facts.down) - {member.name}
    if missing:
        return f"manager {min(missing)} is down, and managers go one at a time"
    if needs_vote_moved(facts, member):
        return None
    if member.name in database.voters and not quorum_without(facts, gone | {member.name}):
        others = voting_members(facts) & facts.up - {member.name}
        return "the managers would lose their quorum" if others else None
    return None


def voting_members(facts: Facts) -> frozenset[str]:
    """Return the members that have been in the cluster and may vote."""
    return frozenset(m.name for m in facts.obs.members if m.name in facts.obs.records and facts.votes(m))


def needs_vote_moved(facts: Facts, member: Member) -> bool:
    """Return whether the vote must move to another manager before this one may restart.

    With two managers the database lets one of them vote alone. Excluding it hands its vote to the other one, so that
    also a cluster of two managers stays available.
    """
    database = facts.database
    if database is None or member.name not in database.voters or quorum_without(facts, {member.name}):
        return False
    return bool((voting_members(facts) & facts.up) - {member.name}) and not voting_members(facts) & facts.down


def choose(facts: Facts, candidates: Sequence[Member], first: frozenset[str] = frozenset()) -> Choice:
    """Return the largest set of candidates that may go down together now.

    Candidates come in the order in which they should change. Those in `first` (already prepared) are taken before
    others, so that the choice stays the same from one reconciliation to the next.
    """
    gone = facts.down
    budget = facts.obs.desired.max_unavailable
    room = len(candidates) if budget is None else budget - len(gone)
    held: dict[str, str] = {}
    able: list[Member] = []
    for member in candidates:
        reason = member_problem(facts, member, gone)
        if reason is None:
            able.append(member)
        else:
            held[member.name] = reason
    if room <= 0:
        reason = f"{', '.join(sorted(gone))} {'is' if len(gone) == 1 else 'are'} down"
        return Choice(chosen=(), held=held | {m.name: reason for m in able})
    start = greedy(facts, [m for m in able if m.name in first], (), gone, room)
    chosen = extend(facts, able, start, gone, room)
    names = tuple(m.name for m in chosen)
    rest = {m.name: f"waiting for its turn after {', '.join(names)}" for m in able if m.name not in names}
    return Choice(chosen=names, held=held | rest)


def member_problem(facts: Facts, member: Member, gone: frozenset[str]) -> str | None:
    """Return why this one member must stay, whoever else goes."""
    own = zone_of(member)
    others = {zone_of(facts.members[name]) for name in gone} - {own, ""}
    if own and others:
        return f"a member in zone {min(others)} is down, and zones change one at a time"
    return voter_problem(facts, member, gone) or sole_problem(facts, member, gone)


def zone_of(member: Member) -> str:
    """Return the zone the member runs in; empty when it has no pod or zones are not known."""
    return member.pod.zone if member.pod else ""


def sole_problem(facts: Facts, member: Member, gone: frozenset[str]) -> str | None:
    """Return which unit would lose its last live copy with this member because others are down already."""
    alone = {unit.name for unit in sole_units(facts, member.name)}
    for unit in sole_units(facts, member.name, gone):
        if unit.name not in alone:
            return f"shard {unit.name} has its only started copy on {member.name}"
    return None


def compatible(facts: Facts, group: Sequence[Member], gone: frozenset[str]) -> bool:
    """Return whether these members may be down together, on top of those that are gone."""
    names = frozenset(m.name for m in group)
    zones = {zone_of(m) for m in group} - {""}
    if len(zones) > 1 or sum(facts.votes(m) for m in group) > 1:
        return False
    for member in group:
        before = {unit.name for unit in sole_units(facts, member.name)}
        together = sole_units(facts, member.name, gone | names - {member.name})
        if any(unit.name not in before for unit in together):
            return False
    return True


def greedy(
    facts: Facts, order: Sequence[Member], start: Sequence[Member], gone: frozenset[str], room: int
) -> tuple[Member, ...]:
    """Return `start` extended in order by every member that fits."""
    chosen = tuple(start)
    for member in order:
        if len(chosen) < room and member not in chosen and compatible(facts, (*chosen, member), gone):
            chosen = (*chosen, member)
    return chosen


def extend(
    facts: Facts, able: Sequence[Member], start: tuple[Member, ...], gone: frozenset[str], room: int
) -> tuple[Member, ...]:
    """Return the largest compatible set that contains `start`: exact for few candidates, by zone and order for many."""
    best = greedy(facts, able, start, gone, room)
    for zone in sorted({zone_of(m) for m in able}):
        found = greedy(facts, [m for m in able if zone_of(m) == zone], start, gone, room)
        best = found if len(found) > len(best) else best
    rest = [m for m in able if m not in start]
    if len(rest) > EXACT_LIMIT:
        return best
    for size in range(min(len(rest), room - len(start)), len(best) - len(start), -1):
        for group in combinations(rest, size):
            if compatible(facts, (*start, *group), gone):
                return (*start, *group)
    return best
