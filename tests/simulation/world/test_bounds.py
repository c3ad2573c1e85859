"""A world that spins ends with a message: timers that multiply, time that stands still, a step that never ends."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from stateward.simulation.campaign import campaign
from stateward.simulation.campaign.run import Plan, Run, simulate_one
from stateward.simulation.opensearch.shards import Copy
from stateward.simulation.timing.bounds import WALL, WALL_PER_HOUR, Bounds
from tests.simulation.scenario import Scenario, hot, managers

pytestmark = pytest.mark.simulation


def spinning(monkeypatch: pytest.MonkeyPatch, spin: Callable[[Run], Any]) -> None:
    """Let a world begin to spin when its storm begins."""

    async def live(run: Run, seconds: float) -> None:
        spin(run)
        await asyncio.sleep(seconds)

    monkeypatch.setattr(Run, "live", live)


def multiply(run: Run) -> None:
    for _ in range(2):
        run.world.context.later(10.0, multiply, run)


def stand_still(run: Run) -> None:
    run.world.context.loop.call_soon(stand_still, run)


def never_end(run: Run) -> None:
    _ = run
    while True:
        time.sleep(0.01)


def message(bounds: Bounds) -> str:
    outcome, _ = simulate_one(7, Plan(chaos=3600.0, quiet_start=False, profile="", bounds=bounds))
    assert [v.property for v in outcome.violations] == ["bound"]
    return outcome.violations[0].message


@pytest.mark.parametrize("spin", [multiply, stand_still])
def test_a_world_that_spins_ends_at_its_limit_of_steps_at_the_same_step_every_time(
    monkeypatch: pytest.MonkeyPatch, spin: Callable[[Run], Any]
) -> None:
    spinning(monkeypatch, spin)
    text = message(Bounds(steps=30_000))
    begins = "seed 7 was ended in the time with faults: it took more than 30,000 steps within one simulated hour; due"
    assert text.startswith(begins)
    assert f" of {spin.__name__}" in text
    assert "; the last event: " in text
    assert message(Bounds(steps=30_000)) == text


def test_a_world_that_spins_ends_when_its_real_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    spinning(monkeypatch, stand_still)
    assert "it took more than 0.3 s; due now: 1 of stand_still; set for later: " in message(Bounds(wall=0.3))


def test_a_step_that_never_ends_is_interrupted_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateward.simulation.campaign.run.GRACE", 0.1)
    spinning(monkeypatch, never_end)
    text = message(Bounds(wall=0.2))
    assert "a single step did not end; it was in never_end (test_bounds.py:" in text


def test_each_simulated_hour_has_its_own_steps_and_what_is_not_spent_ends_nothing() -> None:
    needed = Plan(chaos=7200.0, only=frozenset(), bounds=Bounds(steps=60_000))
    assert not simulate_one(3, needed)[0].violations
    assert simulate_one(3, Plan(chaos=7200.0, only=frozenset(), bounds=Bounds(steps=2_000)))[0].violations


def test_a_campaign_counts_a_run_that_was_ended_as_failed() -> None:
    found = campaign.simulate_many("opensearch", [4], plan=Plan(chaos=600.0), bounds=Bounds(steps=500), cores=1)
    assert [outcome.seed for outcome in found.failed] == [4]


def test_a_longer_run_has_more_real_time_unless_a_limit_is_set() -> None:
    assert Bounds().seconds(720 * 3600.0) == WALL + 720 * WALL_PER_HOUR
    assert Bounds(wall=5.0).seconds(720 * 3600.0) == 5.0


async def test_copies_that_are_delayed_are_checked_once_each_however_often_the_database_looks() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin(indices=0)
        database, context = scenario.database, scenario.world.context
        for number in range(12):
            database.create_index(f"delayed-{number}", 1, 2**20, 1.0)
        await asyncio.sleep(60.0)
        for number, shard in enumerate(database.shards[-12:]):
            copy: Copy = next(c for c in shard.copies if not c.primary)
            database.nodes[copy.node].disk.copies.pop(shard.name)
            database.allocator._unassign(copy, "NODE_LEFT")
            copy.delayed_until = context.now + 30.0 + number
        before = database.version
        database.allocator.reroute()
        await asyncio.sleep(60.0)
        assert all(copy.active for shard in database.shards for copy in shard.copies)
        assert database.version - before < 100
