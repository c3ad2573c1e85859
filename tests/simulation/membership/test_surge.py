"""A healthy member never leaves for a replacement that cannot start, in the whole operator and over time."""

import asyncio
from collections.abc import Iterator

import pytest

from stateward.api.values.base import Json
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.scenario import PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

LONG = 3600.0
"""Seconds for which an edit that cannot be satisfied stands."""
HOT = {f"logs-hot-{i}" for i in range(4)}
MANAGERS = {f"logs-managers-{i}" for i in range(3)}


def unknown_class(pool: Json) -> Json:
    return {**pool, "storage": {**pool["storage"], "storageClass": "no-such-class"}}


def smaller(pool: Json) -> Json:
    return {**pool, "storage": {**pool["storage"], "size": "1Gi"}}


def serving(scenario: Scenario) -> set[str]:
    return {node.name for node in scenario.database.nodes.values() if node.reachable}


def copies(scenario: Scenario) -> int:
    return sum(copy.active for shard in scenario.database.shards for copy in shard.copies)


async def stands(scenario: Scenario, seconds: float = LONG) -> Iterator[tuple[set[str], int]]:
    """Return who served and how many copies were started, every half minute."""
    seen: list[tuple[set[str], int]] = []
    for _ in range(int(seconds / 30)):
        await asyncio.sleep(30.0)
        seen.append((serving(scenario), copies(scenario)))
    return iter(seen)


async def costs_nothing(scenario: Scenario) -> None:
    """Expect every member and every copy that there is now to stay, and the wait to be a stall that says why."""
    before, started = serving(scenario), copies(scenario)
    for there, live in await stands(scenario):
        assert there >= before, f"{sorted(before - there)} left"
        assert live >= started
    assert scenario.disrupted() == []
    assert "NewMemberStuck" in str(scenario.status["waiting"])


@pytest.mark.parametrize("dies", [False, True])
async def test_38_a_storage_class_that_does_not_exist_costs_no_data_member(dies: bool) -> None:
    with Scenario(managers(), hot(4)).logged() as scenario:
        await scenario.begin()
        scenario.edit(pools=[managers(), unknown_class(hot(4))])
        if dies:
            await asyncio.sleep(40.0)
            scenario.process.kill()
            await asyncio.sleep(60.0)
            scenario.process.start()
        await costs_nothing(scenario)
        assert "storage class no-such-class does not exist" in str(scenario.status["waiting"])
        scenario.edit(pools=[managers(), hot(4)])
        await scenario.settle()
        assert serving(scenario) == HOT | MANAGERS


async def test_a_misspelt_class_of_managers_costs_no_vote() -> None:
    with Scenario(managers(), hot(4)).logged() as scenario:
        await scenario.begin()
        scenario.edit(pools=[unknown_class(managers()), hot(4)])
        await costs_nothing(scenario)
        assert scenario.database.names_of_voters() == MANAGERS
        scenario.edit(pools=[managers(), hot(4)])
        await scenario.settle()
        assert serving(scenario) == HOT | MANAGERS


@pytest.mark.parametrize("closed", ["cordoned", "tainted", "full"])
async def test_smaller_volumes_where_no_node_takes_a_pod_cost_nothing(closed: str) -> None:
    with Scenario(managers(), hot(4)).logged() as scenario:
        await scenario.begin()
        close(scenario, closed, on=True)
        scenario.edit(pools=[managers(), smaller(hot(4))])
        await costs_nothing(scenario)
        close(scenario, closed, on=False)
        await scenario.settle()


def close(scenario: Scenario, how: str, *, on: bool) -> None:
    """Let no node take a new pod, or let them again."""
    if how == "full":
        scenario.world.scheduler.capacity = 0 if on else scenario.world.layout.capacity
    for name in scenario.world.nodes.names if how != "full" else ():
        if how == "cordoned":
            scenario.world.nodes.cordon(name, on=on)
        else:
            scenario.world.nodes.taint(name, on=on, effect="NoSchedule")


async def test_all_members_are_to_be_replaced_and_none_can_come() -> None:
    with Scenario(managers(), hot(4)).logged() as scenario:
        await scenario.begin()
        close(scenario, "cordoned", on=True)
        scenario.edit(members={"replace": sorted(HOT)})
        await costs_nothing(scenario)
        close(scenario, "cordoned", on=False)
        await scenario.settle()
        assert HOT.isdisjoint(serving(scenario))


async def test_taints_on_all_nodes_replace_no_member_whose_successor_finds_no_node() -> None:
    policy = {"enabled": True, "after": "10m", "maxConcurrent": 5, "maxFaultDomainsWithTaints": 9}
    policy |= {"onTaints": [{"key": "trouble", "after": "1m"}]}
    with Scenario(managers(), hot(5), replacement=policy).logged() as scenario:
        await scenario.begin()
        for name in scenario.world.nodes.names:
            scenario.world.nodes.taint(name, on=True, key="trouble", effect="NoSchedule")
        await costs_nothing(scenario)
        for name in scenario.world.nodes.names:
            scenario.world.nodes.taint(name, on=False, key="trouble", effect="NoSchedule")
        await scenario.settle()


async def test_a_full_quota_of_pods_keeps_the_members_that_are_there() -> None:
    with Scenario(managers(), hot(4)).logged() as scenario:
        await scenario.begin()
        scenario.world.server.admission.quota[NAMESPACE, PODS] = 7
        scenario.edit(pools=[managers(), smaller(hot(4))])
        await costs_nothing(scenario)
        assert "has created no pod" in str(scenario.status["waiting"])
        scenario.world.server.admission.quota.clear()
        await scenario.settle()


async def test_where_the_user_prefers_it_members_make_room_one_at_a_time() -> None:
    with Scenario(managers(), hot(4), update={"surge": "Preferred"}).logged() as scenario:
        await scenario.begin()
        scenario.world.scheduler.capacity = 0
        scenario.edit(pools=[managers(), smaller(hot(4))])
        least = min(len(there) for there, _ in await stands(scenario))
        assert least == 6, "one member of seven left, and no second one before its successor joined"
        scenario.world.scheduler.capacity = scenario.world.layout.capacity
        await scenario.settle()
        assert len(serving(scenario)) == 7


async def test_no_room_is_made_for_a_storage_class_that_does_not_exist() -> None:
    with Scenario(managers(), hot(4), update={"surge": "Preferred"}).logged() as scenario:
        await scenario.begin()
        scenario.edit(pools=[managers(), unknown_class(hot(4))])
        await costs_nothing(scenario)
