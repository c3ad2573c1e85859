"""FoundationDB in the whole operator: created once, changed, repaired; no member leaves while it holds data."""

import asyncio

import pytest

from tests.simulation.foundationdb.scenario import Scenario, pools

pytestmark = pytest.mark.simulation


async def test_it_is_made_once_and_comes_to_rest() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        assert len(scenario.members()) == 12
        assert len(scenario.coordinators()) == 3
        assert set(await scenario.processes()) == scenario.members()
        scenario.check()


async def test_it_grows_and_shrinks_with_its_data() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        scenario.edit(pools=pools(storage=7))
        assert await scenario.settled(), scenario.doing
        assert len(scenario.members()) == 14
        scenario.edit(pools=pools(storage=5, log=3))
        assert await scenario.settled(), scenario.doing
        assert len(scenario.members()) == 11, scenario.doing
        assert await scenario.excluded() == []
        scenario.check()


async def test_a_coordinator_is_replaced_and_its_vote_goes_first() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        voter = min(scenario.coordinators())
        scenario.edit(members={"replace": [voter]})
        assert await scenario.until(lambda: voter not in scenario.members()), scenario.doing
        assert await scenario.settled(), scenario.doing
        assert voter not in scenario.coordinators()
        assert len(scenario.coordinators()) == 3
        assert await scenario.excluded() == []
        scenario.check()


async def test_a_replacement_is_reverted_in_flight() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        scenario.edit(members={"replace": ["logs-storage-3"]})
        assert await scenario.until(lambda: "logs-storage-3" in scenario.removals()), scenario.doing
        scenario.edit(members={"replace": None, "keep": ["logs-storage-3"]})
        assert await scenario.settled(), scenario.doing
        assert "logs-storage-3" in scenario.members()
        assert scenario.removals() == {}
        assert await scenario.excluded() == []
        scenario.check()


async def test_a_compatible_upgrade_is_one_member_after_the_other() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        scenario.edit(version="7.1.67")
        assert await scenario.settled(7200.0), scenario.doing
        assert {p["version"] for p in (await scenario.processes()).values()} == {"7.1.67"}
        assert scenario.short == 0
        scenario.check()


@pytest.mark.parametrize("agents", [False, True])
async def test_with_one_copy_of_everything_members_still_change_one_after_the_other(*, agents: bool) -> None:
    """The data of a member is unavailable while it restarts, and there is no other way to restart it."""
    with Scenario(agents=agents, redundancy="single", pools=pools(storage=3, log=3)).logged() as scenario:
        await scenario.begin()
        for version in ("7.1.67", "7.3.63"):
            scenario.edit(version=version)
            assert await scenario.settled(7200.0), scenario.doing
            assert {p["version"] for p in (await scenario.processes()).values()} == {version}
        scenario.check()


async def test_stateless_members_without_volumes_change_where_no_other_can_take_over() -> None:
    """With one copy of everything there are no spare members, so the database lets none of them be drained."""
    stateless = {"name": "stateless", "processClass": "stateless", "replicas": 2, "storage": {"ephemeral": True}}
    with Scenario(redundancy="single", pools=[*pools(storage=3, log=3)[:2], stateless]).logged() as scenario:
        await scenario.begin()
        scenario.edit(version="7.1.67")
        assert await scenario.settled(7200.0), scenario.doing
        assert await scenario.excluded() == []
        scenario.check()


async def test_members_of_a_machine_that_stays_away_are_replaced() -> None:
    with Scenario(replacement={"enabled": True, "after": "10m"}).logged() as scenario:
        await scenario.begin()
        pod = next(p for p in scenario.world.foundationdb.pods.values() if p.container.pod.name == "logs-log-1-0")
        machine = pod.container.node
        lost = {
            p.container.pod.name.removesuffix("-0")
            for p in scenario.world.foundationdb.pods.values()
            if p.container.node == machine
        }
        scenario.world.nodes.lose(machine, power=True)
        assert await scenario.until(lambda: lost <= set(scenario.removals()), 7200.0), scenario.doing
        await asyncio.sleep(1800.0)
        assert lost.isdisjoint(scenario.coordinators())
        scenario.world.nodes.restore(machine)
        assert await scenario.settled(7200.0), scenario.doing
        assert lost.isdisjoint(set(await scenario.processes()))
        assert await scenario.excluded() == []
        scenario.check()


@pytest.mark.parametrize("nth", range(1, 40, 3))
async def test_the_operator_may_die_after_every_write_of_a_shrink(nth: int) -> None:
    with Scenario(seed=nth).logged() as scenario:
        await scenario.begin()
        scenario.crash_after(nth)
        scenario.edit(pools=pools(storage=4))
        assert await scenario.settled(), scenario.doing
        assert len(scenario.members()) == 11
        assert await scenario.excluded() == []
        scenario.check()


def maintenance(scenario: Scenario) -> str:
    assert scenario.database.cluster is not None
    return scenario.database.cluster.state.maintenance


async def test_the_zone_of_a_recreated_member_is_in_maintenance_and_no_longer_than_that() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        commands: list[str] = []
        scenario.process.command_done = commands.append
        scenario.edit(version="7.1.67")
        assert await scenario.settled(7200.0), scenario.doing
        begun = [c for c in commands if c.startswith("maintenance on")]
        assert len(begun) >= 9, "storage and logs, each by itself"
        assert maintenance(scenario) == ""
        assert not any("exclude" in c for c in commands)
        scenario.check()


async def test_maintenance_ends_although_the_operator_died_right_after_it_began_it() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()

        left = [1]

        def told(command: str) -> None:
            if command.startswith("maintenance on") and left:
                left.clear()
                scenario.process.kill()

        scenario.process.command_done = told
        scenario.edit(version="7.1.67")
        assert await scenario.until(lambda: maintenance(scenario), 3600.0), scenario.doing
        scenario.edit(version="7.1.57")
        assert await scenario.settled(), scenario.doing
        assert maintenance(scenario) == ""
        scenario.check()


async def test_a_users_maintenance_is_left_alone_and_waited_for() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        pod = scenario.world.foundationdb.pods[min(scenario.world.foundationdb.pods)]
        zone = {"op": "maintenance", "zone": "n-elsewhere", "seconds": 3600}
        await scenario.database.ask(pod.client(), zone)
        before = scenario.pods()
        scenario.edit(version="7.1.67")
        assert await scenario.until(lambda: "n-elsewhere is in maintenance" in scenario.doing), scenario.doing
        await asyncio.sleep(1800.0)
        assert maintenance(scenario) == "n-elsewhere"
        assert scenario.pods() == before
        assert await scenario.settled(7200.0), scenario.doing
        assert {p["version"] for p in (await scenario.processes()).values()} == {"7.1.67"}
        scenario.check()
