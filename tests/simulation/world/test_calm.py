"""Time that is passed over: nothing that runs in the world may notice, and nothing that happens may be missed."""

import asyncio

import pytest

from stateward.simulation.campaign.quiet_hours import QuietTime
from stateward.simulation.faults.faults import FAULTS, Swarm
from tests.simulation.story import Story, hot, managers

pytestmark = pytest.mark.simulation


async def pass_time(story: Story, calm: QuietTime, seconds: float) -> None:
    ground = story.world.ground
    end = ground.passed + seconds
    while ground.passed < end:
        await asyncio.sleep(30.0)
        calm.look(end - ground.passed)


async def test_a_calm_day_takes_minutes_and_what_was_due_comes_at_its_time() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        ground = story.world.ground
        began, wall, rang = ground.passed, ground.clock.timestamp(), list[tuple[float, float]]()
        ground.later(36000.0, lambda: rang.append((ground.passed, ground.clock.timestamp())))
        before = story.run.watchdog.writes
        await pass_time(story, QuietTime(story.world, lambda: True), 86400.0)
        assert ground.skipped > 80000.0
        assert rang == [(pytest.approx(began + 36000.0), pytest.approx(wall + 36000.0))]
        assert story.run.watchdog.writes == before
        story.edit(config={"indices.first": 1})
        await story.settle()
        assert len(story.disrupted()) == 6


async def test_nothing_is_passed_over_while_the_desired_state_is_not_reached() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        calm = QuietTime(story.world, lambda: True)
        story.edit(version="9.9.9", pools=[managers(), hot(3)])
        await pass_time(story, calm, 1800.0)
        assert not story.world.ground.skipped
        assert calm.unmet_for() > 1500.0


async def test_nothing_is_passed_over_while_requests_fail() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        await pass_time(story, QuietTime(story.world, lambda: False), 1800.0)
        assert not story.world.ground.skipped


async def test_whoever_sees_to_a_cluster_insists_on_no_more_copies_than_there_are_members() -> None:
    with Story(managers(), hot(2)).told() as story:
        await story.begin()
        story.database.create_index("wide", 2, 2**20, 1.0)
        story.database.create_index("fits", 1, 2**20, 1.0)
        await asyncio.sleep(60.0)
        assert story.database.health == "yellow"
        story.user.heed()
        await story.settle()
        assert {shard.index: shard.spread for shard in story.database.shards if shard.index in ("wide", "fits")} == {
            "wide": "0-2",
            "fits": "false",
        }


async def test_a_shrink_that_is_refused_for_the_copies_of_an_index_is_seen_to() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        story.database.create_index("wide", 2, 2**20, 1.0)
        await asyncio.sleep(60.0)
        story.edit(pools=[managers(), hot(2)])
        assert await story.until(lambda: "ShrinkRefused" in story.waits)
        story.user.heed()
        await story.settle()


async def test_what_a_storm_has_often_because_it_seldom_strikes_is_rare_on_ordinary_days() -> None:
    with Story(managers(), hot(3)).told() as story:
        stage = story.run.swarm.stage
        frequent = [fault for fault in FAULTS if fault.ordinary]
        assert frequent
        named = frozenset(fault.name for fault in frequent)
        storm, days = Swarm(stage, (frequent, ()), named), Swarm(stage, (frequent, ()), named, 120.0)
        assert all(storm.gaps[fault.name] <= fault.gap[1] for fault in frequent)
        assert all(days.gaps[fault.name] >= 86400.0 for fault in frequent)
