"""A large safe set where trying every set would take too long: built up from the member with most conflicts on.

One member after the other is taken: the one most of whose conflicts are with members that cannot go any more anyway,
and of those the one that keeps fewest others from going. So the set grows large, and what is left has few conflicts and
needs few more sets. Source: recursive largest first (F. T. Leighton, 1979), with several beginnings.
"""

from collections.abc import Sequence

from msgspec import Struct

BEGINNINGS = 6
"""Members that a set is begun with: more make it hardly larger, and each takes a millisecond or two for 120 members."""


class Ground(Struct, frozen=True):
    """Candidates as bits."""

    masks: Sequence[int]
    """For each: those that it may not go with."""
    wide: Sequence[Sequence[tuple[int, int]]]
    """For each: its units of which more than one holder may go, as bits, and how many may go together."""
    near: Sequence[int]
    """For each: those that it shares a unit with which not all of them may leave."""
    room: int


def pack(ground: Ground, begun: int, known: int) -> int:
    """Return a large set that contains `begun`: of several and one that is known, the one with the most conflicts."""
    able = _left(ground, begun, ((1 << len(ground.masks)) - 1) & ~begun)
    near = ground.near
    hardest = sorted(bits(able), key=lambda i: (-near[i].bit_count(), i))[:BEGINNINGS]
    room = begun.bit_count() < ground.room
    found = [_grown(ground, begun, first, wary=wary) for first in hardest if room for wary in (False, True)]
    return max([known, *found], key=lambda chosen: sum(near[i].bit_count() + 1 for i in bits(chosen)))


def _grown(ground: Ground, chosen: int, first: int, *, wary: bool) -> int:
    """Return a set grown from a first member; a wary one looks first at how many others each keeps from going."""
    everyone = (1 << len(ground.masks)) - 1
    able = _left(ground, chosen, everyone & ~chosen)
    out = everyone & ~able & ~chosen
    pick = first
    while True:
        chosen |= 1 << pick
        before, able = able, _left(ground, chosen, able & ~ground.masks[pick] & ~(1 << pick), pick)
        out |= before & ~able & ~chosen
        if not able or chosen.bit_count() >= ground.room:
            return chosen
        pick = _next(ground, able, out, wary=wary)


def _next(ground: Ground, able: int, out: int, *, wary: bool) -> int:
    """Return who is taken next, of those able to go and those that are out; of equals the first in order."""
    best, found = (0, 0), -1
    for i in bits(able):
        lost, free = (ground.near[i] & able).bit_count(), (ground.near[i] & out).bit_count()
        rank = (-lost, free) if wary else (free, -lost)
        if found < 0 or rank > best:
            best, found = rank, i
    return found


def _left(ground: Ground, chosen: int, able: int, last: int | None = None) -> int:
    """Return who may still go with those chosen; with `last`, only what that one changes is looked at."""
    for i in [last] if last is not None else bits(chosen):
        able &= ~ground.masks[i]
        for mask, spare in ground.wide[i]:
            if (mask & chosen).bit_count() >= spare:
                able &= ~mask
    return able


def bits(mask: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
