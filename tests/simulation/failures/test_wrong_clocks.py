"""Operators that follow each other have clocks that differ by up to two minutes, and nothing depends on that."""

from datetime import datetime

import pytest

from stateward.simulation.campaign.engine_setups import ENGINE_SETUPS
from stateward.simulation.campaign.run import YEAR, Plan, Run, simulate_one
from stateward.simulation.timing.loop import WorldLoop
from stateward.simulation.timing.wrong_clock import COUNTED, drawn
from tests.simulation.scenario import Scenario, hot, managers

pytestmark = pytest.mark.simulation

CHAOS = 1800.0
SEEDS = range(4)


@pytest.mark.parametrize("engine", ENGINE_SETUPS)
def test_no_property_is_violated_with_wrong_clocks(engine: str) -> None:
    for seed in SEEDS:
        outcome, _ = simulate_one(seed, Plan(engine=engine, chaos=CHAOS, wrong_clocks=True))
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        assert outcome.counts[COUNTED] >= 1


@pytest.mark.parametrize(
    ("plan", "wrong"),
    [
        (Plan(), True),
        (Plan(wrong_clocks=False), False),
        (Plan(only=frozenset()), False),
        (Plan(slower=YEAR), False),
        (Plan(only=frozenset(), wrong_clocks=True), True),
    ],
)
def test_a_seed_draws_wrong_clocks_only_for_storms_in_which_it_draws_everything(plan: Plan, wrong: bool) -> None:
    seed, loop = next(seed for seed in range(200) if drawn(seed)), WorldLoop()
    try:
        assert bool(Run(seed, plan, loop).world.clock_error) is wrong
    finally:
        loop.close()


def test_three_of_ten_seeds_draw_wrong_clocks() -> None:
    assert 45 <= sum(drawn(seed) for seed in range(200)) <= 75


@pytest.mark.parametrize("most", [0.0, 36000.0])
async def test_an_operator_tells_the_time_of_its_clock(most: float) -> None:
    with Scenario(managers(), hot(2)).logged() as scenario:
        scenario.world.clock_error = most
        await scenario.begin(indices=0)
        docs = [event.doc for event in scenario.world.store.all("events.k8s.io/events")]
    times = [(doc["eventTime"], doc["metadata"]["creationTimestamp"]) for doc in docs]
    wrong = [abs((datetime.fromisoformat(a) - datetime.fromisoformat(b)).total_seconds()) for a, b in times]
    assert wrong
    assert all((seconds > 60.0) is bool(most) for seconds in wrong), wrong
