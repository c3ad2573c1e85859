"""Single steps of members that leave, each on one observation."""

import pytest
from msgspec.structs import replace

from stateward.planning.steps.membership.decommission import still_needed
from tests.unit.planning.pools import hot, managers
from tests.unit.planning.safety.test_choice import facts_of


@pytest.mark.parametrize(
    ("down", "stopped", "named"),
    [
        ("", "", "fewer members than the spec asks for would serve without this member"),
        ("hot-0", "", "fewer members than the spec asks for would serve without this member"),
        ("managers-0", "", "managers-0 does not serve"),
        ("managers-0 hot-1", "", "hot-1 does not serve"),
        ("managers-0 hot-0 hot-1", "", "hot-1 does not serve"),
        ("hot-1 hot-2", "hot-1", "hot-2 does not serve"),
    ],
)
def test_a_member_that_is_still_needed_waits_for_another_of_its_pool_first(down: str, stopped: str, named: str) -> None:
    facts = facts_of([managers(), hot(3)], [], down=down)
    facts = replace(facts, obs=replace(facts.obs, stopped=frozenset(stopped.split())))
    assert still_needed(facts, facts.members["hot-0"]).startswith(named)
