"""Skipped time: the operator does not notice it, and no event is missed."""

import asyncio

import pytest

from stateward.simulation.campaign.quiet_period import QuietPeriod
from stateward.simulation.faults.faults import FAULTS, FaultSchedule
from tests.simulation.scenario import Scenario, hot, managers

pytestmark = pytest.mark.simulation


async def pass_time(scenario: Scenario, calm: QuietPeriod, seconds: float) -> None:
    context = scenario.world.context
    end = context.passed + seconds
    while context.passed < end:
        await asyncio.sleep(30.0)
        calm.skip_if_quiet(end - context.passed)


async def test_a_quiet_day_takes_minutes_and_what_was_due_comes_at_its_time() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        context = scenario.world.context
        began, wall, rang = context.passed, context.clock.timestamp(), list[tuple[float, float]]()
        context.later(36000.0, lambda: rang.append((context.passed, context.clock.timestamp())))
        before = scenario.run.watchdog.writes
        await pass_time(scenario, QuietPeriod(scenario.world, lambda: True), 86400.0)
        assert context.skipped > 80000.0
        assert rang == [(pytest.approx(began + 36000.0), pytest.approx(wall + 36000.0))]
        assert scenario.run.watchdog.writes == before
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert len(scenario.disrupted()) == 6


async def test_nothing_is_skipped_while_the_desired_state_is_not_reached() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        calm = QuietPeriod(scenario.world, lambda: True)
        scenario.edit(version="9.9.9", pools=[managers(), hot(3)])
        await pass_time(scenario, calm, 1800.0)
        assert not scenario.world.context.skipped
        assert calm.unmet_for() > 1500.0


async def test_nothing_is_skipped_while_requests_fail() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        await pass_time(scenario, QuietPeriod(scenario.world, lambda: False), 1800.0)
        assert not scenario.world.context.skipped


async def test_a_user_that_resolves_waits_requests_no_more_copies_than_members() -> None:
    with Scenario(managers(), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.database.create_index("wide", 2, 2**20, 1.0)
        scenario.database.create_index("fits", 1, 2**20, 1.0)
        await asyncio.sleep(60.0)
        assert scenario.database.health == "yellow"
        scenario.user.resolve_waits()
        await scenario.settle()
        assert {shard.index: shard.spread for shard in scenario.database.shards if shard.index in ("wide", "fits")} == {
            "wide": "0-2",
            "fits": "false",
        }


async def test_a_user_resolves_a_shrink_that_is_refused_for_the_copies_of_an_index() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.database.create_index("wide", 2, 2**20, 1.0)
        await asyncio.sleep(60.0)
        scenario.edit(pools=[managers(), hot(2)])
        assert await scenario.until(lambda: "ShrinkRefused" in scenario.waits)
        scenario.user.resolve_waits()
        await scenario.settle()


async def test_faults_that_are_frequent_in_storms_are_rare_on_ordinary_days() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        stage = scenario.run.fault_schedule.targets
        frequent = [fault for fault in FAULTS if fault.ordinary]
        assert frequent
        named = frozenset(fault.name for fault in frequent)
        storm, days = FaultSchedule(stage, (frequent, ()), named), FaultSchedule(stage, (frequent, ()), named, 120.0)
        assert all(storm.gaps[fault.name] <= fault.gap[1] for fault in frequent)
        assert all(days.gaps[fault.name] >= 86400.0 for fault in frequent)
