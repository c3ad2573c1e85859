"""FoundationDB in the whole operator: made once, changed, repaired; nothing goes that still holds something."""

import asyncio

import pytest

from tests.simulation.foundationdb.story import Story, pools

pytestmark = pytest.mark.simulation


async def test_it_is_made_once_and_comes_to_rest() -> None:
    with Story().told() as story:
        await story.begin()
        assert len(story.members()) == 12
        assert len(story.coordinators()) == 3
        assert set(await story.processes()) == story.members()
        story.check()


async def test_it_grows_and_shrinks_with_its_data() -> None:
    with Story().told() as story:
        await story.begin()
        story.edit(pools=pools(storage=7))
        assert await story.settled(), story.doing
        assert len(story.members()) == 14
        story.edit(pools=pools(storage=5, log=3))
        assert await story.settled(), story.doing
        assert len(story.members()) == 11, story.doing
        assert await story.excluded() == []
        story.check()


async def test_a_coordinator_is_replaced_and_its_vote_goes_first() -> None:
    with Story().told() as story:
        await story.begin()
        voter = min(story.coordinators())
        story.edit(members={"replace": [voter]})
        assert await story.until(lambda: voter not in story.members()), story.doing
        assert await story.settled(), story.doing
        assert voter not in story.coordinators()
        assert len(story.coordinators()) == 3
        assert await story.excluded() == []
        story.check()


async def test_a_replacement_is_taken_back_in_flight() -> None:
    with Story().told() as story:
        await story.begin()
        story.edit(members={"replace": ["logs-storage-3"]})
        assert await story.until(lambda: "logs-storage-3" in story.removals()), story.doing
        story.edit(members={"replace": None, "keep": ["logs-storage-3"]})
        assert await story.settled(), story.doing
        assert "logs-storage-3" in story.members()
        assert story.removals() == {}
        assert await story.excluded() == []
        story.check()


async def test_a_compatible_upgrade_is_one_member_after_the_other() -> None:
    with Story().told() as story:
        await story.begin()
        story.edit(version="7.1.67")
        assert await story.settled(7200.0), story.doing
        assert {p["version"] for p in (await story.processes()).values()} == {"7.1.67"}
        assert story.short == 0
        story.check()


async def test_members_of_a_machine_that_stays_away_are_replaced() -> None:
    with Story(replacement={"enabled": True, "after": "10m"}).told() as story:
        await story.begin()
        pod = next(p for p in story.world.foundations.pods.values() if p.container.pod.name == "logs-log-1-0")
        machine = pod.container.node
        lost = {
            p.container.pod.name.removesuffix("-0")
            for p in story.world.foundations.pods.values()
            if p.container.node == machine
        }
        story.world.nodes.lose(machine, power=True)
        assert await story.until(lambda: lost <= set(story.removals()), 7200.0), story.doing
        await asyncio.sleep(1800.0)
        assert lost.isdisjoint(story.coordinators())
        story.world.nodes.restore(machine)
        assert await story.settled(7200.0), story.doing
        assert lost.isdisjoint(set(await story.processes()))
        assert await story.excluded() == []
        story.check()


@pytest.mark.parametrize("nth", range(1, 40, 3))
async def test_the_operator_may_die_after_every_write_of_a_shrink(nth: int) -> None:
    with Story(seed=nth).told() as story:
        await story.begin()
        story.crash_after(nth)
        story.edit(pools=pools(storage=4))
        assert await story.settled(), story.doing
        assert len(story.members()) == 11
        assert await story.excluded() == []
        story.check()


def maintenance(story: Story) -> str:
    assert story.database.cluster is not None
    return story.database.cluster.state.maintenance


async def test_the_zone_of_whoever_is_made_anew_is_in_maintenance_and_no_longer_than_that() -> None:
    with Story().told() as story:
        await story.begin()
        commands: list[str] = []
        story.process.told = commands.append
        story.edit(version="7.1.67")
        assert await story.settled(7200.0), story.doing
        begun = [c for c in commands if c.startswith("maintenance on")]
        assert len(begun) >= 9, "storage and logs, each by itself"
        assert maintenance(story) == ""
        assert not any("exclude" in c for c in commands)
        story.check()


async def test_maintenance_ends_although_the_operator_died_right_after_it_began_it() -> None:
    with Story().told() as story:
        await story.begin()

        left = [1]

        def told(command: str) -> None:
            if command.startswith("maintenance on") and left:
                left.clear()
                story.process.kill()

        story.process.told = told
        story.edit(version="7.1.67")
        assert await story.until(lambda: maintenance(story), 3600.0), story.doing
        story.edit(version="7.1.57")
        assert await story.settled(), story.doing
        assert maintenance(story) == ""
        story.check()


async def test_a_persons_maintenance_is_left_alone_and_waited_for() -> None:
    with Story().told() as story:
        await story.begin()
        pod = story.world.foundations.pods[min(story.world.foundations.pods)]
        zone = {"op": "maintenance", "zone": "n-elsewhere", "seconds": 3600}
        await story.database.ask(pod.client(), zone)
        before = story.pods()
        story.edit(version="7.1.67")
        assert await story.until(lambda: "n-elsewhere is in maintenance" in story.doing), story.doing
        await asyncio.sleep(1800.0)
        assert maintenance(story) == "n-elsewhere"
        assert story.pods() == before
        assert await story.settled(7200.0), story.doing
        assert {p["version"] for p in (await story.processes()).values()} == {"7.1.67"}
        story.check()
