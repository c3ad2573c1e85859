"""Sets that are built where trying every set would take too long: safe, and hard to make larger."""

from random import Random

import pytest

from tests.unit.planning.pools import hot, managers
from tests.unit.planning.test_choice import chosen, facts_of, safe

Units = list[tuple[str, ...]]


def placed(seed: int, members: int) -> Units:
    """Return shards of two and three copies on random members."""
    random = Random(seed)  # noqa: S311 - repeated by its seed
    names = [f"hot-{i}" for i in range(members)]
    return [tuple(random.sample(names, random.choice((2, 3)))) for _ in range(members * 8)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("budget", [None, 4])
def test_a_set_that_is_built_is_safe_and_nobody_more_may_go(seed: int, budget: int | None) -> None:
    units = placed(seed, 40)
    facts = facts_of([managers(), hot(40)], units, budget=budget)
    found = chosen(facts)
    assert found
    assert safe(facts, found, units)
    others = [f"hot-{i}" for i in range(40) if f"hot-{i}" not in found]
    assert not any(safe(facts, (*found, name), units) for name in others)


@pytest.mark.parametrize("seed", range(6))
def test_what_was_begun_is_in_the_set(seed: int) -> None:
    units = placed(seed, 40)
    facts = facts_of([managers(), hot(40)], units)
    begun = frozenset(chosen(facts)[:5])
    assert begun <= set(chosen(facts, first=begun))
    assert safe(facts, chosen(facts, first=begun), units)
