"""Which members may be down together at this instant, on top of those that already are: a large safe set.

One budget for the whole cluster prevents the disaster of two loops that each take "just one" member. Within it no unit
loses too many live copies, at most one manager goes, and all are in one zone. Of such sets it is one after which the
others need as few more as can be found (`fewest_sets`): so the whole change is short, not only its beginning.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from stateward.planning.facts.facts import Facts
from stateward.planning.facts.missing_members import loses_data_with_pod
from stateward.planning.model.observation import Member
from stateward.planning.safety.availability import copies_needed, is_relocating, member_problem, settled_holders
from stateward.planning.safety.fewest_sets import ConflictGraph, bits, next_set

Units = list[tuple[tuple[int, ...], int]]


class Choice(Struct, frozen=True):
    """The members that may go down now, and for each other candidate why not."""

    chosen: tuple[str, ...]
    held: Mapping[str, str]


def choose(
    facts: Facts,
    candidates: Sequence[Member],
    first: frozenset[str] = frozenset(),
    keeping: frozenset[str] = frozenset(),
) -> Choice:
    """Return the candidates that go down together now, after whom the fewest sets are left to go.

    Candidates come in the order in which they should change. Those in `first` (already prepared) are taken before
    others, so that the choice stays the same from one reconciliation to the next. Those in `keeping` keep their pods.
    """
    problems = {m.name: member_problem(facts, m, keeps=m.name in keeping) for m in candidates}
    held = {name: problem for name, problem in problems.items() if problem is not None}
    able = [m for m in candidates if m.name not in held]
    room = room_left(facts, len(able))
    if room <= 0:
        return Choice(chosen=(), held=held | {m.name: budget_used_up(facts) for m in able})
    able.sort(key=lambda m: m.name not in first)
    best = going_now(facts, able, first, room)
    names = tuple(m.name for m in candidates if m.name in best)
    rest = {m.name: f"it is later in the rollout order than {', '.join(names)}" for m in able if m.name not in names}
    return Choice(chosen=names, held=held | rest)


def room_left(facts: Facts, candidates: int) -> int:
    """Return how many more members the budget allows to be down.

    While the database does not answer, the operator does not know which copies are in sync or which members vote: it
    never stops two at once.
    """
    budget = facts.obs.desired.max_unavailable if facts.database is not None else 1
    return candidates if budget is None else budget - len(facts.down)


def budget_used_up(facts: Facts) -> str:
    """Return in words that the budget is used up."""
    down = sorted(facts.down)
    return f"{', '.join(down)} {'is' if len(down) == 1 else 'are'} down, and no more members may be down"


def going_now(facts: Facts, able: Sequence[Member], first: frozenset[str], room: int) -> frozenset[str]:
    """Return the members to stop now: as many of `first` as fit, in order, and all others that fit with them."""
    if room == 1 or not able:
        return frozenset(m.name for m in able[:1])
    ground, begun = conflict_graph(conflicts(facts, able), shared(facts, able), room), 0
    for i, member in enumerate(able):
        if member.name in first and ground.fits(begun, i):
            begun |= 1 << i
    return frozenset(able[i].name for i in bits(next_set(ground, begun)))


def conflict_graph(masks: list[int], units: Units, room: int) -> ConflictGraph:
    """Return the candidates as bits, with the pairs that must not stop together for reasons other than units."""
    near, wide = list(masks), [list[tuple[int, int]]() for _ in masks]
    for inside, spare in units:
        mask = sum(1 << i for i in inside)
        for i in inside:
            near[i] |= mask & ~(1 << i)
            if spare == 1:
                masks[i] |= mask & ~(1 << i)
            else:
                wide[i].append((mask, spare))
    return ConflictGraph(masks, wide, near, room)


def conflicts(facts: Facts, able: Sequence[Member]) -> list[int]:
    """Return for each candidate, as bits, those that must not stop with it: of another zone, or of a lone kind.

    An unknown zone counts as another zone, unless no zone is known.

    Managers stop one at a time, and so do members that are drained first: their data needs room on the others.
    """
    masks = [0] * len(able)
    zones, votes = [facts.zone(m.name) for m in able], [facts.votes(m) for m in able]
    drained = [loses_data_with_pod(facts, m) and facts.holds_data(m) for m in able]
    for i in range(len(able)):
        for j in range(i):
            alone = (votes[i] and votes[j]) or (drained[i] and drained[j])
            if alone or zones[i] != zones[j]:
                masks[i] |= 1 << j
                masks[j] |= 1 << i
    return masks


def shared(facts: Facts, able: Sequence[Member]) -> Units:
    """Return, for each unit that not all its holders may leave at once, these candidates and how many of them may go.

    One may always go of those that may go alone.
    """
    place = {m.name: i for i, m in enumerate(able)}
    units = {unit.name: unit for m in able for unit in facts.units_of(m.name)}
    found: dict[tuple[tuple[int, ...], int], None] = {}
    for unit in units.values():
        live = facts.holders[unit.name] - facts.down
        spare = max(1, len(live) - copies_needed(facts, unit))
        # A relocating copy may have arrived before these members stop.
        near = live | settled_holders(unit) if is_relocating(unit) else live
        inside = tuple(sorted(place[name] for name in near if name in place))
        if len(inside) > spare:
            found[inside, spare] = None
    return list(found)
