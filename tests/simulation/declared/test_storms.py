"""Storms in which users declare objects of the database: nothing is violated, and what they are for is reached."""

import pytest

from stateward.simulation.campaign.campaign import attempt
from stateward.simulation.campaign.declared import COUNTED, drawn
from stateward.simulation.campaign.run import YEAR, Outcome, Plan, Run, simulate_one
from stateward.simulation.campaign.shrinking import chosen_by_seed, smaller
from stateward.simulation.timing.loop import WorldLoop

pytestmark = pytest.mark.simulation

CHAOS = 1800.0
LEAST, MORE = 4, 40
"""Storms that run, and how many more if something was not met in these: another edit of the model draws others."""


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch"])
def test_no_property_is_violated_and_both_clients_do_their_part(engine: str) -> None:
    left = {
        "declared: operator writes an object",
        "declared: operator deletes an object",
        "declared: operator writes settings",
        "declared: InvalidSpec",
        "declared: operator restores to verify",
        "declared: snapshot verified",
        "declared: MixedVersions",
        "declared: VersionsUnknown",
        "declared: Drifted",
        "declared: Exists",
        "declared: Refused",
        "declared: Paused",
        "fault: declared resource edited",
        "fault: object changed by another client",
    }
    for number, seed in enumerate((6, 7, 13, 14, *range(16, 16 + MORE)), start=1):
        outcome = attempt(seed, Plan(engine=engine, chaos=CHAOS, declared=True))
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        left -= outcome.counts.keys()
        if number >= LEAST and not left:
            return
    pytest.fail(f"never met: {', '.join(sorted(left))}")


def test_a_seed_has_the_same_story_twice() -> None:
    plan = Plan(chaos=CHAOS, declared=True, trace=True)
    assert simulate_one(7, plan)[0] == simulate_one(7, plan)[0]


def test_some_storms_have_declared_objects_and_all_others_are_as_without_them() -> None:
    some = [seed for seed in range(200) if drawn(seed)]
    assert 15 <= len(some) <= 45
    other = next(seed for seed in range(1, 200) if seed not in some)
    plan = Plan(chaos=300.0, trace=True)
    assert attempt(other, plan) == attempt(other, Plan(chaos=300.0, declared=False, trace=True))


@pytest.mark.parametrize(
    ("plan", "declares"),
    [
        (Plan(), True),
        (Plan(declared=False), False),
        (Plan(profile=""), False),
        (Plan(only=frozenset()), False),
        (Plan(slower=YEAR), False),
        (Plan(engine="foundationdb"), False),
        (Plan(engine="foundationdb", declared=True), False),
        (Plan(only=frozenset(), declared=True), True),
    ],
)
def test_a_seed_draws_declared_objects_only_for_storms_in_which_it_draws_everything(plan: Plan, declares: bool) -> None:
    seed, loop = next(seed for seed in range(1, 200) if drawn(seed)), WorldLoop()
    try:
        assert (Run(seed, plan, loop).declared is not None) is declares
    finally:
        loop.close()


def test_a_smaller_run_keeps_its_declared_objects_while_faults_are_removed() -> None:
    outcome = Outcome(1, (), 0.0, {COUNTED: 1, "fault: declared resource edited": 1, "fault: user edit": 1})
    assert chosen_by_seed(outcome, Plan()).declared is True
    assert chosen_by_seed(Outcome(1, (), 0.0, {}), Plan()).declared is False
    found = list(smaller(outcome, Plan()))
    fewer = [plan for plan in found if plan.only is not None]
    assert fewer
    assert all(plan.declared for plan in fewer)
    assert any(plan.declared is False and plan.only is None for plan in found)
