"""A healthy member never leaves for one that cannot come: whatever is edited, in the whole operator and over time."""

import asyncio
from collections.abc import Iterator

import pytest

from stateward.api.values.base import Json
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.story import PODS, Story, hot, managers

pytestmark = pytest.mark.simulation

LONG = 3600.0
"""Seconds for which an edit that cannot be satisfied stands."""
HOT = {f"logs-hot-{i}" for i in range(4)}
MANAGERS = {f"logs-managers-{i}" for i in range(3)}


def unknown_class(pool: Json) -> Json:
    return {**pool, "storage": {**pool["storage"], "storageClass": "no-such-class"}}


def smaller(pool: Json) -> Json:
    return {**pool, "storage": {**pool["storage"], "size": "1Gi"}}


def serving(story: Story) -> set[str]:
    return {node.name for node in story.database.nodes.values() if node.reachable}


def copies(story: Story) -> int:
    return sum(copy.active for shard in story.database.shards for copy in shard.copies)


async def stands(story: Story, seconds: float = LONG) -> Iterator[tuple[set[str], int]]:
    """Return who served and how many copies were started, every half minute."""
    seen: list[tuple[set[str], int]] = []
    for _ in range(int(seconds / 30)):
        await asyncio.sleep(30.0)
        seen.append((serving(story), copies(story)))
    return iter(seen)


async def costs_nothing(story: Story) -> None:
    """Expect every member and every copy that there is now to stay, and the wait to be a stall that says why."""
    before, started = serving(story), copies(story)
    for there, live in await stands(story):
        assert there >= before, f"{sorted(before - there)} left"
        assert live >= started
    assert story.disrupted() == []
    assert "NewMemberStuck" in str(story.status["waiting"])


@pytest.mark.parametrize("dies", [False, True])
async def test_38_a_storage_class_that_does_not_exist_costs_no_data_member(dies: bool) -> None:
    with Story(managers(), hot(4)).told() as story:
        await story.begin()
        story.edit(pools=[managers(), unknown_class(hot(4))])
        if dies:
            await asyncio.sleep(40.0)
            story.process.kill()
            await asyncio.sleep(60.0)
            story.process.start()
        await costs_nothing(story)
        assert "storage class no-such-class does not exist" in str(story.status["waiting"])
        story.edit(pools=[managers(), hot(4)])
        await story.settle()
        assert serving(story) == HOT | MANAGERS


async def test_a_misspelt_class_of_managers_costs_no_vote() -> None:
    with Story(managers(), hot(4)).told() as story:
        await story.begin()
        story.edit(pools=[unknown_class(managers()), hot(4)])
        await costs_nothing(story)
        assert story.database.names_of_voters() == MANAGERS
        story.edit(pools=[managers(), hot(4)])
        await story.settle()
        assert serving(story) == HOT | MANAGERS


@pytest.mark.parametrize("closed", ["cordoned", "tainted", "full"])
async def test_smaller_volumes_where_no_node_takes_a_pod_cost_nothing(closed: str) -> None:
    with Story(managers(), hot(4)).told() as story:
        await story.begin()
        close(story, closed, on=True)
        story.edit(pools=[managers(), smaller(hot(4))])
        await costs_nothing(story)
        close(story, closed, on=False)
        await story.settle()


def close(story: Story, how: str, *, on: bool) -> None:
    """Let no node take a new pod, or let them again."""
    if how == "full":
        story.world.scheduler.capacity = 0 if on else story.world.layout.capacity
    for name in story.world.nodes.names if how != "full" else ():
        if how == "cordoned":
            story.world.nodes.cordon(name, on=on)
        else:
            story.world.nodes.taint(name, on=on, effect="NoSchedule")


async def test_all_members_are_to_be_replaced_and_none_can_come() -> None:
    with Story(managers(), hot(4)).told() as story:
        await story.begin()
        close(story, "cordoned", on=True)
        story.edit(members={"replace": sorted(HOT)})
        await costs_nothing(story)
        close(story, "cordoned", on=False)
        await story.settle()
        assert HOT.isdisjoint(serving(story))


async def test_taints_on_all_nodes_replace_nobody_whose_successor_finds_no_node() -> None:
    policy = {"enabled": True, "after": "10m", "maxConcurrent": 5, "maxFaultDomainsWithTaints": 9}
    policy |= {"onTaints": [{"key": "trouble", "after": "1m"}]}
    with Story(managers(), hot(5), replacement=policy).told() as story:
        await story.begin()
        for name in story.world.nodes.names:
            story.world.nodes.taint(name, on=True, key="trouble", effect="NoSchedule")
        await costs_nothing(story)
        for name in story.world.nodes.names:
            story.world.nodes.taint(name, on=False, key="trouble", effect="NoSchedule")
        await story.settle()


async def test_a_full_quota_of_pods_keeps_the_members_that_are_there() -> None:
    with Story(managers(), hot(4)).told() as story:
        await story.begin()
        story.world.server.admission.quota[NAMESPACE, PODS] = 7
        story.edit(pools=[managers(), smaller(hot(4))])
        await costs_nothing(story)
        assert "has created no pod" in str(story.status["waiting"])
        story.world.server.admission.quota.clear()
        await story.settle()


async def test_where_the_user_prefers_it_members_make_room_one_at_a_time() -> None:
    with Story(managers(), hot(4), update={"surge": "Preferred"}).told() as story:
        await story.begin()
        story.world.scheduler.capacity = 0
        story.edit(pools=[managers(), smaller(hot(4))])
        least = min(len(there) for there, _ in await stands(story))
        assert least == 6, "one member of seven left, and no second one before its successor joined"
        story.world.scheduler.capacity = story.world.layout.capacity
        await story.settle()
        assert len(serving(story)) == 7


async def test_no_room_is_made_for_a_storage_class_that_does_not_exist() -> None:
    with Story(managers(), hot(4), update={"surge": "Preferred"}).told() as story:
        await story.begin()
        story.edit(pools=[managers(), unknown_class(hot(4))])
        await costs_nothing(story)
