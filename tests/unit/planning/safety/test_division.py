"""Divisions of many members into few sets: safe, few, and a started set continues."""

from random import Random

import pytest

from stateward.planning.safety.safe_set import choose
from tests.unit.planning.pools import hot, managers
from tests.unit.planning.safety.test_choice import chosen, facts_of, safe

Units = list[tuple[str, ...]]


def placed(seed: int, members: int) -> Units:
    """Return shards of two and three copies on random members."""
    random = Random(seed)  # noqa: S311 - repeated by its seed
    names = [f"hot-{i}" for i in range(members)]
    return [tuple(random.sample(names, random.choice((2, 3)))) for _ in range(members * 8)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("budget", [None, 4])
def test_a_set_that_is_built_is_safe_and_no_further_member_may_go(seed: int, budget: int | None) -> None:
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


@pytest.mark.parametrize("seed", range(6))
def test_forty_members_are_all_through_in_few_sets(seed: int) -> None:
    """Of shards that many know to divide: they were laid over five sets, and no shard is within one."""
    random = Random(seed)  # noqa: S311 - repeated by its seed
    sets = [[f"hot-{i}" for i in range(40) if i % 5 == n] for n in range(5)]
    units = [tuple(random.choice(part) for part in random.sample(sets, 2)) for _ in range(300)]
    facts, left, taken = facts_of([managers(), hot(40)], units), {f"hot-{i}" for i in range(40)}, 0
    while left:
        found = choose(facts, [m for m in facts.obs.members if m.name in left]).chosen
        assert safe(facts, found, units)
        left, taken = left - set(found), taken + 1
    assert taken == 5


def test_the_same_question_has_the_same_answer() -> None:
    units = placed(3, 60)
    facts = facts_of([managers(), hot(60)], units)
    assert chosen(facts) == chosen(facts)


def test_a_budget_of_two_takes_ten_sets_for_twenty() -> None:
    units = placed(1, 20)
    facts, left, taken = facts_of([managers(), hot(20)], units, budget=2), {f"hot-{i}" for i in range(20)}, 0
    while left:
        found = choose(facts, [m for m in facts.obs.members if m.name in left]).chosen
        assert safe(facts, found, units)
        left, taken = left - set(found), taken + 1
    assert taken == 10
