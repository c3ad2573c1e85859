"""Failures of two members, in each order and distance, and an operator that is killed during their replacement.

Each run kills the operator after another step. STATEWARD_EXPLORE=1 tries every step. The operator announces node
shutdowns to Elasticsearch, and not to OpenSearch.
"""

import asyncio
import itertools
import os
from collections.abc import Iterator

import pytest

from stateward.simulation.world.world import Layout
from tests.simulation.foundationdb.scenario import Scenario as Ledger
from tests.simulation.scenario import PODS, Scenario, pool
from tests.simulation.steps import Steps

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


def machine_of(scenario: Scenario | Ledger, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in scenario.world.store.all(PODS) if p.key.name == f"{member}-0")


async def fail(
    scenario: Scenario | Ledger, members: tuple[str, str], order: tuple[int, int], distance: float
) -> set[str]:
    """Power off the machines of two members permanently; return all members on them."""
    machines = [machine_of(scenario, members[i]) for i in order]
    lost = {
        p.key.name.removesuffix("-0") for p in scenario.world.store.all(PODS) if p.doc["spec"]["nodeName"] in machines
    }
    for machine in dict.fromkeys(machines):
        scenario.world.nodes.lose(machine, power=True)
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
    with Scenario(pool("all", 5, ["cluster_manager", "data"]), layout=layout, replacement=POLICY).logged() as scenario:
        scenario.world.databases.announced = announced
        await scenario.begin(0)
        for number in range(3):
            scenario.database.create_index(f"docs-{number}", 2, 20 * 2**20, 5.0)
        await asyncio.sleep(120.0)
        scenario.red = 0.0  # New indices are red until their first copies have started.
        Steps(scenario, fatal)
        lost = await fail(scenario, ("logs-all-1", "logs-all-3"), order, distance)

        def whole() -> bool:
            there = {node.name for node in scenario.database.nodes.values() if node.reachable}
            return scenario.database.health == "green" and len(there) == 5 and lost.isdisjoint(there)

        assert await scenario.until(whole, 7200.0), scenario.waits
        assert not scenario.world.databases.damage.losses
        assert scenario.red == 0.0
        assert len(scenario.world.formed()) == 1


@pytest.mark.parametrize(("order", "distance", "fatal"), list(cases(3)))
async def test_foundationdb_has_both_replaced_and_loses_nothing(
    order: tuple[int, int], distance: float, fatal: int
) -> None:
    with Ledger(replacement=POLICY, redundancy="triple").logged() as scenario:
        await scenario.begin()
        if fatal:
            scenario.crash_after(fatal)
        lost = await fail(scenario, ("logs-storage-1", "logs-log-1"), order, distance)

        def whole() -> bool:
            return scenario.ready() and lost.isdisjoint(scenario.coordinators()) and scenario.removals().keys() >= lost

        assert await scenario.until(whole, 10800.0), scenario.doing
        assert lost.isdisjoint(await scenario.processes())
        assert len(await scenario.processes()) == 12
        scenario.check()
