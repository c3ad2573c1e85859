"""Divides members into as few sets as possible: the members of one set stop together, so fewer sets are faster.

The largest set now is not always the best choice: it may leave a rest that needs one set more. So all members that
still have to restart are divided into as few sets as the search finds, and the largest set goes first. This is graph
colouring with an edge for each shard that two members share (a hypergraph, if more than one copy may be unavailable):

    first fit, most constrained member first ──▶ search all divisions with one set fewer
        ──found──▶ one set fewer, and again          ──there is none──▶ the previous division is the answer
        ──limit reached──▶ dissolve one set and move its members to the others
            ──▶ resolve conflicts, one move at a time ──none left──▶ one set fewer, and again
                                                      └─limit reached──▶ the previous division is the answer

Sources: D. Brélaz, "New methods to color the vertices of a graph" (1979), for the first division and the search order;
A. Hertz and D. de Werra, "Using tabu search techniques for graph coloring" (1987), for the resolution of conflicts. The
search is deterministic: the same question has the same answer.
"""

from collections.abc import Sequence

from msgspec import Struct

WORK = 40
"""Comparisons of two members or of a member and a unit, for each pair of members and each attempt with one set fewer.
For 120 members this takes some tenths of a second at most, and finds nearly all divisions that exist.
"""
MANY = 80
"""Smaller numbers of members get as much work as this number: a division of few members is not easier to find."""
TRIES = 10
"""Attempts to place a member, for each pair of members, in the exhaustive search; enough to search all divisions of few
members.
"""
TENURE = 11
"""Moves during which a member does not return to its previous set; six more for every ten members in conflict."""


class ConflictGraph(Struct, frozen=True):
    """Members as bits, with the pairs that must not be in one set."""

    masks: Sequence[int]
    """For each member: the members that must not be in its set."""
    wide: Sequence[Sequence[tuple[int, int]]]
    """For each member: its units that may lose more than one holder, as bits, and how many may stop together."""
    near: Sequence[int]
    """For each member: all members that it conflicts with, alone or together with others."""
    room: int
    """How many may go together at most, at least 1."""

    def fits(self, chosen: int, i: int) -> bool:
        """Return whether a member fits into the chosen set."""
        if self.masks[i] & chosen or chosen.bit_count() >= self.room:
            return False
        return all((mask & chosen).bit_count() < spare for mask, spare in self.wide[i])

    def conflicts(self, chosen: int, i: int) -> int:
        """Return how often a member and others of a set are in each other's way; itself may be among them."""
        others = chosen & ~(1 << i)
        crowded = 1 if others.bit_count() >= self.room else 0
        tight = sum((mask & others).bit_count() >= spare for mask, spare in self.wide[i])
        return (self.masks[i] & others).bit_count() + tight + crowded


def next_set(ground: ConflictGraph, begun: int) -> int:
    """Return the set that goes now: it contains `begun`, is free of conflicts, and no further member fits into it."""
    sets = partition(ground, begun)
    if begun:
        return _filled(ground, sets[0])
    return max(
        (_filled(ground, chosen) for chosen in sets), key=lambda chosen: (chosen.bit_count(), -(chosen & -chosen))
    )


def partition(ground: ConflictGraph, begun: int = 0) -> list[int]:
    """Return all members in as few sets as the search found; the first contains `begun`."""
    sets, least = _greedy(ground, begun), _least(ground)
    while len(sets) > least and (fewer := _fewer(ground, sets, begun)) is not None:
        sets = fewer
    return sets


def _fewer(ground: ConflictGraph, sets: Sequence[int], begun: int) -> list[int] | None:
    """Return a division with one set fewer, or None if there is none or the search found none within its limit."""
    trial = ExhaustiveSearch(ground, len(sets) - 1, begun)
    found = trial.made()
    if found is None:
        return _without_one_set(ground, sets, begun)
    return trial.sets if found else None


def _greedy(ground: ConflictGraph, begun: int) -> list[int]:
    """Return a division by first fit: each member, the most constrained first, goes into the first set that fits."""
    sets, left = ([begun] if begun else []), set(range(len(ground.masks))) - set(bits(begun))
    shut = {i: sum(not ground.fits(chosen, i) for chosen in sets) for i in left}
    while left:
        i = min(left, key=lambda j: (-shut[j], -ground.near[j].bit_count(), j))
        left.remove(i)
        at = next((n for n, chosen in enumerate(sets) if ground.fits(chosen, i)), len(sets))
        if at == len(sets):
            sets.append(0)
        before, sets[at] = sets[at], sets[at] | 1 << i
        for j in left:
            shut[j] += ground.fits(before, j) and not ground.fits(sets[at], j)
    return sets


def _least(ground: ConflictGraph) -> int:
    """Return a lower bound for the number of sets: the size of a group of members that all conflict with each other."""
    count, alike, able = len(ground.masks), 0, (1 << len(ground.masks)) - 1
    while able:
        i = max(bits(able), key=lambda j: ((ground.masks[j] & able).bit_count(), -j))
        alike, able = alike + 1, able & ground.masks[i]
    return max(alike, -(-count // ground.room))


def _without_one_set(ground: ConflictGraph, sets: Sequence[int], begun: int) -> list[int] | None:
    """Return a division with one set fewer, or None if the search found none within its limit."""
    gone = min(range(1 if begun else 0, len(sets)), key=lambda at: (sets[at].bit_count(), -at))
    kept = [chosen for at, chosen in enumerate(sets) if at != gone]
    for i in bits(sets[gone]):
        at = min(range(len(kept)), key=lambda n: (ground.conflicts(kept[n], i), n))
        kept[at] |= 1 << i
    tangle = TabuSearch(ground, kept, fixed=begun)
    return tangle.sets if tangle.resolved() else None


class ExhaustiveSearch:
    """Exhaustive search over all divisions into a given number of sets, the most constrained member first."""

    def __init__(self, ground: ConflictGraph, count: int, begun: int) -> None:
        self.sets = [begun, *[0] * (count - 1)]
        self._ground = ground
        self._left = (1 << len(ground.masks)) - 1 & ~begun
        self._looks = TRIES * len(ground.masks) ** 2

    def made(self) -> bool | None:
        """Search for a division; return whether there is one, or None if the limit was reached without an answer."""
        return self._try(self._left)

    def _try(self, left: int) -> bool | None:
        if not left:
            return True
        i, fitting = self._tightest(left)
        if self._looks < 0:
            return None
        for at in fitting:
            self.sets[at] |= 1 << i
            found = self._try(left & ~(1 << i))
            if found is not False:
                return found
            self.sets[at] &= ~(1 << i)
        return False

    def _tightest(self, left: int) -> tuple[int, list[int]]:
        """Return the member that fits into the fewest sets, and these sets; of the empty sets only the first counts."""
        ground, best, rank = self._ground, (0, list[int]()), (len(self.sets) + 1, 0)
        empty = next((at for at, chosen in enumerate(self.sets) if not chosen), len(self.sets) - 1)
        for i in bits(left):
            fitting = [at for at, chosen in enumerate(self.sets[: empty + 1]) if ground.fits(chosen, i)]
            self._looks -= empty + 1
            if (mine := (len(fitting), -ground.near[i].bit_count())) < rank:
                best, rank = (i, fitting), mine
            if not fitting:
                break
        return best


class TabuSearch:
    """A division in which some are in each other's way, while they are moved."""

    def __init__(self, ground: ConflictGraph, sets: list[int], fixed: int) -> None:
        self.sets = sets
        self._ground, self._fixed = ground, fixed
        count = len(ground.masks)
        self._moved = [0] * count
        self._barred: dict[tuple[int, int], int] = {}
        self._where = [0] * count
        self._conflicts: dict[int, int] = {}
        """The number of conflicts of each member that has any."""
        for at, chosen in enumerate(sets):
            for i in bits(chosen):
                self._where[i] = at
                self._count(i)

    def resolved(self) -> bool:
        """Move one member after another; return whether no conflicts remain."""
        fewest = sum(self._conflicts.values())
        step = work = 0
        while self._conflicts and work < WORK * max(len(self._moved), MANY) ** 2:
            step += 1
            work += sum(len(self._ground.wide[i]) + 1 for i in self._conflicts) * len(self.sets)
            if (best := self._best(step, fewest)) is not None:
                self._move(*best, step)
                fewest = min(fewest, sum(self._conflicts.values()))
        return not self._conflicts

    def _best(self, step: int, fewest: int) -> tuple[int, int] | None:
        """Return which member goes to which set: it gets out of most others' way, and of these it moved longest ago."""
        total, best = sum(self._conflicts.values()), None
        for i, here in self._conflicts.items():
            if self._fixed >> i & 1:
                continue
            for to, chosen in enumerate(self.sets):
                if to == self._where[i]:
                    continue
                change = self._ground.conflicts(chosen, i) - here
                if self._barred.get((i, to), 0) > step and total + 2 * change >= fewest:
                    continue
                rank = (change, self._moved[i], i, to)
                best = rank if best is None or rank < best else best
        return None if best is None else best[2:]

    def _move(self, i: int, to: int, step: int) -> None:
        """Move a member, and keep it from going back for a while."""
        at = self._where[i]
        self._barred[i, at] = step + step * 7 % TENURE + len(self._conflicts) * 6 // 10
        self._moved[i], self._where[i] = step, to
        self.sets[at] &= ~(1 << i)
        self.sets[to] |= 1 << i
        near = self._ground.near[i] if self._ground.room >= len(self._moved) else -1
        for j in bits((self.sets[at] | self.sets[to]) & near | 1 << i):
            self._count(j)

    def _count(self, i: int) -> None:
        """Note how often a member is in others' way."""
        self._conflicts.pop(i, None)
        if found := self._ground.conflicts(self.sets[self._where[i]], i):
            self._conflicts[i] = found


def _filled(ground: ConflictGraph, chosen: int) -> int:
    """Return the set with all members added that fit, those with the most conflicts first."""
    for i in sorted(range(len(ground.masks)), key=lambda j: (-ground.near[j].bit_count(), j)):
        if not chosen >> i & 1 and ground.fits(chosen, i):
            chosen |= 1 << i
    return chosen


def bits(mask: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
