"""The fewest sets in which members can go, one after the other: a roll-out is as long as it has sets.

The largest set of this moment is not the best one: it may leave a rest that needs a set more. So everybody who is still
to go is divided into as few sets as can be found, and the largest of them goes first. To divide is to colour a graph
whose edges are the shards that two members share (a hypergraph, where more than one copy may be away):

    everybody where it fits, who has least choice first ──▶ all divisions into one set fewer are tried
        ──found──▶ one set fewer, and again          ──there is none──▶ the division before it is the answer
        ──steps used up──▶ one set is dissolved, its members go to the others
            ──▶ conflicts are moved away, one member at a time ──none left──▶ one set fewer, and again
                                                               └─steps used up──▶ the division before it

Sources: D. Brélaz, "New methods to color the vertices of a graph" (1979), for the first division and the order in which
all are tried; A. Hertz and D. de Werra, "Using tabu search techniques for graph coloring" (1987), for moving conflicts
away. Nothing is left to chance: the same question has the same answer.
"""

from collections.abc import Sequence

from msgspec import Struct

WORK = 40
"""Looks at who goes with whom, or at one of its units, for each pair of members and one set fewer: for 120 members some
tenths of a second at most, and enough for nearly all divisions that exist."""
MANY = 80
"""Members of which fewer are given as many looks: of fewer who are harder to divide not less is to be found."""
TRIES = 10
"""Looks at who fits where, for each pair of members, while all divisions are tried; of few members all can be."""
TENURE = 11
"""Fewer moves than this a member does not go back to where it came from, and six more for every ten in conflict."""


class Ground(Struct, frozen=True):
    """Members as bits, and who may not go with whom."""

    masks: Sequence[int]
    """For each: those that it may not go with."""
    wide: Sequence[Sequence[tuple[int, int]]]
    """For each: its units of which more than one holder may go, as bits, and how many may go together."""
    near: Sequence[int]
    """For each: everybody whom it is in the way of, alone or with others."""
    room: int
    """How many may go together at most, at least 1."""

    def fits(self, chosen: int, i: int) -> bool:
        """Return whether a member may go with those chosen."""
        if self.masks[i] & chosen or chosen.bit_count() >= self.room:
            return False
        return all((mask & chosen).bit_count() < spare for mask, spare in self.wide[i])

    def conflicts(self, chosen: int, i: int) -> int:
        """Return how often a member and others of a set are in each other's way; itself may be among them."""
        others = chosen & ~(1 << i)
        crowded = 1 if others.bit_count() >= self.room else 0
        tight = sum((mask & others).bit_count() >= spare for mask, spare in self.wide[i])
        return (self.masks[i] & others).bit_count() + tight + crowded


def next_set(ground: Ground, begun: int) -> int:
    """Return the set that goes now: it contains `begun`, which fits together, and nobody more could go with it."""
    sets = divided(ground, begun)
    if begun:
        return _filled(ground, sets[0])
    return max(
        (_filled(ground, chosen) for chosen in sets), key=lambda chosen: (chosen.bit_count(), -(chosen & -chosen))
    )


def divided(ground: Ground, begun: int = 0) -> list[int]:
    """Return everybody in as few sets as could be found; the first contains `begun`."""
    sets, least = _greedy(ground, begun), _least(ground)
    while len(sets) > least and (fewer := _fewer(ground, sets, begun)) is not None:
        sets = fewer
    return sets


def _fewer(ground: Ground, sets: Sequence[int], begun: int) -> list[int] | None:
    """Return a division with one set fewer, or None where there is none, or none is found within the steps."""
    trial = Trial(ground, len(sets) - 1, begun)
    found = trial.made()
    if found is None:
        return _dissolved(ground, sets, begun)
    return trial.sets if found else None


def _greedy(ground: Ground, begun: int) -> list[int]:
    """Return a division in which everybody was put into the first set where it fits, who has least choice first."""
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


def _least(ground: Ground) -> int:
    """Return a number of sets below which there is no division: of members each of whom is in all others' way."""
    count, alike, able = len(ground.masks), 0, (1 << len(ground.masks)) - 1
    while able:
        i = max(bits(able), key=lambda j: ((ground.masks[j] & able).bit_count(), -j))
        alike, able = alike + 1, able & ground.masks[i]
    return max(alike, -(-count // ground.room))


def _dissolved(ground: Ground, sets: Sequence[int], begun: int) -> list[int] | None:
    """Return a division with one set fewer, or None where none is found within the steps."""
    gone = min(range(1 if begun else 0, len(sets)), key=lambda at: (sets[at].bit_count(), -at))
    kept = [chosen for at, chosen in enumerate(sets) if at != gone]
    for i in bits(sets[gone]):
        at = min(range(len(kept)), key=lambda n: (ground.conflicts(kept[n], i), n))
        kept[at] |= 1 << i
    tangle = Tangle(ground, kept, fixed=begun)
    return tangle.sets if tangle.resolved() else None


class Trial:
    """All divisions into a number of sets, tried one after the other: who has least choice goes first."""

    def __init__(self, ground: Ground, count: int, begun: int) -> None:
        self.sets = [begun, *[0] * (count - 1)]
        self._ground = ground
        self._left = (1 << len(ground.masks)) - 1 & ~begun
        self._looks = TRIES * len(ground.masks) ** 2

    def made(self) -> bool | None:
        """Make one, and return whether there is one; None where that is not known when the steps are used up."""
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
        """Return who fits into fewest sets, and these; of the empty ones the first is as good as any."""
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


class Tangle:
    """A division in which some are in each other's way, while they are moved."""

    def __init__(self, ground: Ground, sets: list[int], fixed: int) -> None:
        self.sets = sets
        self._ground, self._fixed = ground, fixed
        count = len(ground.masks)
        self._moved = [0] * count
        self._barred: dict[tuple[int, int], int] = {}
        self._where = [0] * count
        self._conflicts: dict[int, int] = {}
        """How often each is in others' way, of those who are."""
        for at, chosen in enumerate(sets):
            for i in bits(chosen):
                self._where[i] = at
                self._count(i)

    def resolved(self) -> bool:
        """Move one after the other, and return whether nobody is in anybody's way any more."""
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


def _filled(ground: Ground, chosen: int) -> int:
    """Return a set with everybody who could go with it as well, first those who are in most others' way."""
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
