"""Storms with users of a secured database: applications can log in, and all kinds of passwords occur."""

import pytest

from stateward.simulation.campaign.campaign import attempt
from stateward.simulation.campaign.declared import COUNTED, COUNTED_USERS, drawn, drawn_secured
from stateward.simulation.campaign.run import Outcome, Plan, Run, simulate_one
from stateward.simulation.campaign.shrinking import chosen_by_seed, smaller
from stateward.simulation.timing.loop import WorldLoop
from stateward.simulation.timing.wrong_clock import COUNTED as WRONG_CLOCKS
from tests.simulation.declared.test_storms import MORE

pytestmark = pytest.mark.simulation

CHAOS = 1800.0
_ALWAYS = {
    "declared: operator writes a user",
    "declared: connection published",
    "declared: user Applied",
    "user: password from elsewhere",
}
USUAL = {
    "elasticsearch": _ALWAYS,
    "opensearch": {
        *_ALWAYS,
        "declared: operator deletes a user",
        "declared: user Conflict",
        "declared: user Exists",
        "declared: user InvalidSpec",
        "user: database user deleted",
        "user: given password changed",
    },
}
"""What storms reach, by engine."""
LEAST = 3
"""Storms that run at least."""


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch"])
def test_no_property_is_violated_and_people_and_another_client_do_their_part(engine: str) -> None:
    left = set(USUAL[engine])
    for number, seed in enumerate((1, 6, 9, *range(20, 20 + MORE)), start=1):
        outcome = attempt(seed, Plan(engine=engine, chaos=CHAOS, declared=True, secured=True, wrong_clocks=False))
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        left -= outcome.counts.keys()
        if number >= LEAST and not left:
            return
    pytest.fail(f"never met: {', '.join(sorted(left))}")


def test_an_overlap_is_as_much_shorter_as_the_clocks_of_two_operators_differ() -> None:
    outcome = attempt(6, Plan(engine="elasticsearch", chaos=CHAOS, declared=True, secured=True, wrong_clocks=True))
    assert not outcome.violations, outcome.violations[0]
    assert outcome.counts[WRONG_CLOCKS]


def test_a_seed_has_the_same_story_twice_whatever_passwords_are_drawn() -> None:
    plan = Plan(chaos=CHAOS, declared=True, secured=True, trace=True)
    assert simulate_one(8, plan)[0] == simulate_one(8, plan)[0]


def test_some_storms_with_declared_objects_are_secured() -> None:
    some = [seed for seed in range(4000) if drawn(seed) and drawn_secured(seed)]
    assert 50 <= len(some) <= 130


@pytest.mark.parametrize(
    ("plan", "secured"),
    [
        (Plan(), True),
        (Plan(secured=False), False),
        (Plan(declared=False, secured=True), False),
        (Plan(declared=True), False),
        (Plan(declared=True, secured=True, only=frozenset()), True),
        (Plan(engine="foundationdb", secured=True), False),
    ],
)
def test_a_cluster_is_secured_only_with_declared_resources(plan: Plan, secured: bool) -> None:
    seed, loop = next(seed for seed in range(1, 4000) if drawn(seed) and drawn_secured(seed)), WorldLoop()
    try:
        run = Run(seed, plan, loop)
        assert run.secured is secured
        assert (run.spec.get("security") == {"enabled": True}) is secured
    finally:
        loop.close()


def test_a_smaller_run_stays_secured_while_faults_are_removed_and_loses_that_alone() -> None:
    outcome = Outcome(1, (), 0.0, {COUNTED: 1, COUNTED_USERS: 1, "fault: user edit": 1})
    assert chosen_by_seed(outcome, Plan()).secured is True
    assert chosen_by_seed(Outcome(1, (), 0.0, {COUNTED: 1}), Plan()).secured is False
    found = list(smaller(outcome, Plan()))
    assert all(plan.secured for plan in found if plan.only is not None)
    assert any(plan.declared and plan.secured is False for plan in found)
