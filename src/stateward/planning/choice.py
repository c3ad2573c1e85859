"""Which members may be down together at this instant, on top of those that already are: the largest safe set.

One budget for the whole cluster prevents the disaster of two loops that each take "just one" member. Within it the set
is the largest in which no unit loses too many live copies, with one manager at most and all in one zone. Where trying
every set would take too long, it is a large one after which few sets are left to go (`packing`).
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from stateward.planning.facts import Facts
from stateward.planning.observation import Member
from stateward.planning.packing import Ground, bits, pack
from stateward.planning.safety import member_problem, needed

SEARCH_STEPS = 2_000
"""Members that are tried at most: exact for ten candidates and more; beyond, a set is built instead."""


Units = list[tuple[tuple[int, ...], int]]


class Choice(Struct, frozen=True):
    """The members that may go down now, and for each other candidate why not."""

    chosen: tuple[str, ...]
    held: Mapping[str, str]


def choose(facts: Facts, candidates: Sequence[Member], first: frozenset[str] = frozenset()) -> Choice:
    """Return the largest set of candidates that may go down together now.

    Candidates come in the order in which they should change. Those in `first` (already prepared) are taken before
    others, so that the choice stays the same from one reconciliation to the next.
    """
    problems = {m.name: member_problem(facts, m) for m in candidates}
    held = {name: problem for name, problem in problems.items() if problem is not None}
    able = [m for m in candidates if m.name not in held]
    room = room_left(facts, len(able))
    if room <= 0:
        return Choice(chosen=(), held=held | {m.name: exhausted(facts) for m in able})
    able.sort(key=lambda m: m.name not in first)
    best = largest(facts, able, first, room)
    names = tuple(m.name for m in candidates if m.name in best)
    rest = {m.name: f"waiting for its turn after {', '.join(names)}" for m in able if m.name not in names}
    return Choice(chosen=names, held=held | rest)


def room_left(facts: Facts, candidates: int) -> int:
    """Return how many more members the budget lets go down.

    Of a database that does not answer nobody knows which copies are whole, or who may vote: never two at once.
    """
    budget = facts.obs.desired.max_unavailable if facts.database is not None else 1
    return candidates if budget is None else budget - len(facts.down)


def exhausted(facts: Facts) -> str:
    """Return in words that the budget is used up."""
    down = sorted(facts.down)
    return f"{', '.join(down)} {'is' if len(down) == 1 else 'are'} down, and no more may be"


def largest(facts: Facts, able: Sequence[Member], first: frozenset[str], room: int) -> frozenset[str]:
    """Return the names of the largest set that contains as many of `first` as fit, in order."""
    if room == 1 or not able:
        return frozenset(m.name for m in able[:1])
    search = Search(ground_of(conflicts(facts, able), shared(facts, able), room))
    begun = search.greedy([i for i, m in enumerate(able) if m.name in first])
    return frozenset(able[i].name for i in search.extend(begun))


def ground_of(masks: list[int], units: Units, room: int) -> Ground:
    """Return the candidates as bits, given who may not go together for other reasons than units."""
    near, wide = [0] * len(masks), [list[tuple[int, int]]() for _ in masks]
    for inside, spare in units:
        mask = sum(1 << i for i in inside)
        for i in inside:
            near[i] |= mask & ~(1 << i)
            if spare == 1:
                masks[i] |= mask & ~(1 << i)
            else:
                wide[i].append((mask, spare))
    return Ground(masks, wide, near, room)


def conflicts(facts: Facts, able: Sequence[Member]) -> list[int]:
    """Return for each candidate, as bits, those that may not go with it: in another zone, or also of a lone kind.

    A zone that is not known is another one, unless none is known.

    Managers go one at a time, and so do members that are drained first: what leaves one has to find room on the others.
    """
    masks = [0] * len(able)
    zones, votes = [facts.zone(m.name) for m in able], [facts.votes(m) for m in able]
    drained = [facts.ephemeral(m) and facts.holds_data(m) for m in able]
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
        spare = max(1, len(live) - needed(facts, unit))
        inside = tuple(sorted(place[name] for name in live if name in place))
        if len(inside) > spare:
            found[inside, spare] = None
    return list(found)


class Search:
    """A bounded search for the largest compatible set; of equally large ones the first in order is found."""

    def __init__(self, ground: Ground) -> None:
        self._ground, self._room = ground, ground.room
        self._masks, self._wide = ground.masks, ground.wide
        self._best: tuple[int, ...] = ()
        self._steps = 0

    def greedy(self, order: Sequence[int]) -> tuple[int, ...]:
        """Return the candidates that fit together, taken in order."""
        chosen, bits = (), 0
        for i in order:
            if len(chosen) < self._room and self._fits(bits, i):
                chosen, bits = (*chosen, i), bits | 1 << i
        return chosen

    def extend(self, begun: tuple[int, ...]) -> Sequence[int]:
        """Return the largest set that contains `begun`, or where that is not found in time, a large one."""
        self._best, self._steps = begun, 0
        chosen = sum(1 << i for i in begun)
        self._try(begun, chosen, [i for i in range(len(self._masks)) if i not in begun])
        if self._steps < SEARCH_STEPS:
            return self._best
        return bits(pack(self._ground, chosen, known=sum(1 << i for i in self._best)))

    def _try(self, chosen: tuple[int, ...], bits: int, rest: Sequence[int]) -> None:
        """Try every way to add some of `rest`, as long as a larger set may come of it."""
        if len(chosen) > len(self._best):
            self._best = chosen
        for at, i in enumerate(rest):
            self._steps += 1
            limit = min(self._room, len(chosen) + len(rest) - at)
            if limit <= len(self._best) or self._steps >= SEARCH_STEPS:
                return
            if self._fits(bits, i):
                later = [j for j in rest[at + 1 :] if not self._masks[i] >> j & 1]
                self._try((*chosen, i), bits | 1 << i, later)

    def _fits(self, bits: int, i: int) -> bool:
        """Return whether a candidate may go down with those chosen, all of which may go down alone."""
        if self._masks[i] & bits:
            return False
        return all((mask & bits).bit_count() < spare for mask, spare in self._wide[i])
