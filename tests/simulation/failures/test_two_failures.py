"""Two members that fail, in every order and distance, and an operator that dies at a step of their replacement.

In each run another step is the last one of the operator that takes it. STATEWARD_EXPLORE=1 tries every step of each.
Elasticsearch is told of its nodes that go down, OpenSearch is not.
"""

import asyncio
import itertools
import os
from collections.abc import Iterator

import pytest

from stateward.simulation.world.world import Layout
from tests.simulation.foundationdb.story import Story as Ledger
from tests.simulation.steps import Steps
from tests.simulation.story import PODS, Story, pool

pytestmark = pytest.mark.simulation

POLICY = {"enabled": True, "after": "5m"}
DISTANCES = (0.0, 90.0, 900.0)
"""Seconds: at once, while the first is missed and not replaced yet, while it is being replaced or just has been."""
ORDERS = ((0, 1), (1, 0))
LAST = 40
"""Steps within which the operator dies; two replacements take about as many."""

Case = tuple[tuple[int, int], float, int]


def cases(first: int) -> Iterator[Case]:
    """Yield order, distance and fatal step; 0 for an operator that lives on."""
    ways = list(itertools.product(ORDERS, DISTANCES))
    if os.environ.get("STATEWARD_EXPLORE"):
        yield from ((order, distance, step) for order, distance in ways for step in range(LAST + 1))
        return
    for number, (order, distance) in enumerate(ways):
        yield order, distance, first + number * LAST // len(ways)


def machine_of(story: Story | Ledger, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in story.world.store.all(PODS) if p.key.name == f"{member}-0")


async def fail(story: Story | Ledger, members: tuple[str, str], order: tuple[int, int], distance: float) -> set[str]:
    """Take the power of two members' machines away, for good; return all that ran on them."""
    machines = [machine_of(story, members[i]) for i in order]
    lost = {p.key.name.removesuffix("-0") for p in story.world.store.all(PODS) if p.doc["spec"]["nodeName"] in machines}
    for machine in dict.fromkeys(machines):
        story.world.nodes.lose(machine, power=True)
        await asyncio.sleep(distance)
    return lost


@pytest.mark.parametrize(
    ("announced", "order", "distance", "fatal"),
    [
        pytest.param(told, *case, id=f"{name}-{case[0][0]}-first-{case[1]:.0f}-step-{case[2]}")
        for name, told, first in (("opensearch", False, 0), ("elasticsearch", True, 5))
        for case in cases(first)
    ],
)
async def test_a_search_engine_has_both_replaced_and_loses_nothing(
    *, announced: bool, order: tuple[int, int], distance: float, fatal: int
) -> None:
    layout = Layout(zones=1, nodes_per_zone=8, capacity=2)
    with Story(pool("all", 5, ["cluster_manager", "data"]), layout=layout, replacement=POLICY).told() as story:
        story.world.databases.announced = announced
        await story.begin(0)
        for number in range(3):
            story.database.create_index(f"docs-{number}", 2, 20 * 2**20, 5.0)
        await asyncio.sleep(120.0)
        story.red = 0.0  # New indices are red until their first copies have started.
        Steps(story, fatal)
        lost = await fail(story, ("logs-all-1", "logs-all-3"), order, distance)

        def whole() -> bool:
            there = {node.name for node in story.database.nodes.values() if node.reachable}
            return story.database.health == "green" and len(there) == 5 and lost.isdisjoint(there)

        assert await story.until(whole, 7200.0), story.waits
        assert not story.world.databases.damage.losses
        assert story.red == 0.0
        assert len(story.world.formed()) == 1


@pytest.mark.parametrize(("order", "distance", "fatal"), list(cases(3)))
async def test_foundationdb_has_both_replaced_and_loses_nothing(
    order: tuple[int, int], distance: float, fatal: int
) -> None:
    with Ledger(replacement=POLICY, redundancy="triple").told() as story:
        await story.begin()
        if fatal:
            story.crash_after(fatal)
        lost = await fail(story, ("logs-storage-1", "logs-log-1"), order, distance)

        def whole() -> bool:
            return story.ready() and lost.isdisjoint(story.coordinators()) and story.removals().keys() >= lost

        assert await story.until(whole, 10800.0), story.doing
        assert lost.isdisjoint(await story.processes())
        assert len(await story.processes()) == 12
        story.check()
