"""Which members may be down together at this instant, on top of those that already are: the largest safe set.

One budget for the whole cluster prevents the disaster of two loops that each take "just one" member. Within it the set
is the largest in which no unit loses too many live copies, with one manager at most and all in one zone.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from stateward.planning.facts import Facts
from stateward.planning.observation import Member
from stateward.planning.safety import member_problem, needed

SEARCH_STEPS = 2000
"""Sets that are tried: enough to be exact for ten candidates; beyond, the best found is still a safe one."""


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
    search = Search(facts, room)
    begun = search.greedy([m for m in able if m.name in first])
    best = max((search.largest(begun, group) for group in by_zone(facts, able, begun)), key=len, default=())
    names = tuple(m.name for m in candidates if m in best)
    rest = {m.name: f"waiting for its turn after {', '.join(names)}" for m in able if m.name not in names}
    return Choice(chosen=names, held=held | rest)


def room_left(facts: Facts, candidates: int) -> int:
    """Return how many more members the budget lets go down."""
    budget = facts.obs.desired.max_unavailable
    return candidates if budget is None else budget - len(facts.down)


def exhausted(facts: Facts) -> str:
    """Return in words that the budget is used up."""
    down = sorted(facts.down)
    return f"{', '.join(down)} {'is' if len(down) == 1 else 'are'} down, and no more may be"


def by_zone(facts: Facts, able: Sequence[Member], begun: tuple[Member, ...]) -> list[list[Member]]:
    """Return the candidates of each zone in turn, by first candidate; those without a zone fit into any."""
    fixed = {facts.zone(m.name) for m in begun} - {""}
    zones = dict.fromkeys(facts.zone(m.name) for m in able if facts.zone(m.name) or not fixed)
    named = [zone for zone in zones if zone in fixed or (zone and not fixed)] or [""]
    return [[m for m in able if facts.zone(m.name) in (zone, "")] for zone in named]


class Search:
    """A bounded search for the largest compatible set, in order: of equally large ones the first is found."""

    def __init__(self, facts: Facts, room: int) -> None:
        self._facts = facts
        self._room = room
        self._best: tuple[Member, ...] = ()
        self._steps = 0

    def greedy(self, order: Sequence[Member]) -> tuple[Member, ...]:
        """Return the members that fit together, taken in order."""
        chosen: tuple[Member, ...] = ()
        for member in order:
            if len(chosen) < self._room and self._fits(chosen, member):
                chosen = (*chosen, member)
        return chosen

    def largest(self, begun: tuple[Member, ...], group: Sequence[Member]) -> tuple[Member, ...]:
        """Return the largest set that contains `begun` and otherwise members of the group only."""
        self._best, self._steps = begun, 0
        self._try(begun, [m for m in group if m not in begun])
        return self._best

    def _try(self, chosen: tuple[Member, ...], rest: Sequence[Member]) -> None:
        """Try every way to add members of `rest`, as long as a larger set may come of it."""
        self._steps += 1
        if len(chosen) > len(self._best):
            self._best = chosen
        for i, member in enumerate(rest):
            limit = min(self._room, len(chosen) + len(rest) - i)
            if limit <= len(self._best) or self._steps >= SEARCH_STEPS:
                return
            if self._fits(chosen, member):
                self._try((*chosen, member), rest[i + 1 :])

    def _fits(self, chosen: tuple[Member, ...], member: Member) -> bool:
        """Return whether the member may go down with those chosen, all of which may go down alone."""
        facts = self._facts
        if facts.votes(member) and any(facts.votes(m) for m in chosen):
            return False
        zones = {facts.zone(m.name) for m in (*chosen, member)} - {""}
        if len(zones) > 1:
            return False
        gone = facts.down | {m.name for m in chosen}
        names = gone - facts.down
        for unit in facts.units_of(member.name):
            holders = facts.holders[unit.name]
            if member.name in holders and holders & names and len(holders - gone) - 1 < needed(facts, unit):
                return False
        return True
