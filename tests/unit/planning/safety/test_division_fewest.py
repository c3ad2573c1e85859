"""Of members that are few enough to try all divisions, the fewest sets are found, and one fewer is known not to be."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.planning.safety.fewest_sets import ConflictGraph, ExhaustiveSearch, bits, partition


def ground(count: int, pairs: Sequence[tuple[int, int]], wide: Sequence[frozenset[int]], room: int) -> ConflictGraph:
    """Return members of whom pairs may not go together, nor whole groups, nor more than there is room for."""
    masks, near = [0] * count, [0] * count
    for i, j in pairs:
        masks[i] |= 1 << j
        masks[j] |= 1 << i
    groups = [list[tuple[int, int]]() for _ in range(count)]
    for group in wide:
        mask = sum(1 << i for i in group)
        for i in group:
            groups[i].append((mask, len(group) - 1))
            near[i] |= mask & ~(1 << i)
    return ConflictGraph(masks, groups, [a | b for a, b in zip(masks, near, strict=True)], room)


@st.composite
def grounds(draw: st.DrawFn) -> ConflictGraph:
    count = draw(st.integers(1, 7))
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=14))
    wide = draw(st.lists(st.frozensets(st.integers(0, count - 1), min_size=3), max_size=3)) if count > 2 else []
    return ground(count, [(i, j) for i, j in pairs if i != j], wide, draw(st.integers(1, count)))


def fits_together(area: ConflictGraph, chosen: int) -> bool:
    return all(area.fits(chosen & ~(1 << i), i) for i in bits(chosen))


def fewest(area: ConflictGraph, left: int) -> int:
    """Return the fewest sets, by trying each set that the first of those left may go with."""
    if not left:
        return 0
    first = left & -left
    rest, best, others = left & ~first, left.bit_count(), left & ~first
    while True:
        if fits_together(area, others | first):
            best = min(best, 1 + fewest(area, rest & ~others))
        if not others:
            return best
        others = (others - 1) & rest


@given(grounds())
def test_the_members_cannot_be_divided_into_fewer_sets(area: ConflictGraph) -> None:
    sets = partition(area)
    everybody = (1 << len(area.masks)) - 1
    assert sum(sets) == everybody
    assert sum(chosen.bit_count() for chosen in sets) == len(area.masks)
    assert all(fits_together(area, chosen) for chosen in sets)
    assert len(sets) == fewest(area, everybody)


@given(grounds())
def test_one_set_fewer_is_refuted_and_not_only_not_found(area: ConflictGraph) -> None:
    count = fewest(area, (1 << len(area.masks)) - 1)
    assert ExhaustiveSearch(area, count, 0).made() is True
    assert count == 1 or ExhaustiveSearch(area, count - 1, 0).made() is False


def test_a_member_that_cannot_be_tried_within_the_steps_is_not_reported_as_impossible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd = ground(7, [(i, (i + 1) % 7) for i in range(7)], [], 7)
    assert ExhaustiveSearch(odd, 2, 0).made() is False
    monkeypatch.setattr("stateward.planning.safety.fewest_sets.TRIES", 0)
    assert ExhaustiveSearch(odd, 2, 0).made() is None
    assert len(partition(odd)) == 3


def test_what_was_begun_stays_together_while_all_are_tried() -> None:
    # A path of four could go in two sets; its ends, which have begun together, make that three.
    path = ground(4, [(0, 1), (1, 2), (2, 3)], [], 4)
    assert len(partition(path)) == 2
    sets = partition(path, begun=0b1001)
    assert sets[0] & 0b1001 == 0b1001
    assert len(sets) == 3
    assert ExhaustiveSearch(path, 2, 0b1001).made() is False
