"""Responses and missing responses of the database. Numbers are those of docs/scenarios.md."""

import asyncio
from itertools import pairwise

import pytest

from stateward.simulation.opensearch.cluster import Cluster
from tests.simulation.scenario import CLAIMS, PODS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize("rate", ["error", "garbled"])
async def test_17_a_database_that_does_not_answer_is_unknown_and_not_empty(rate: str) -> None:
    """Members should leave, and every request fails: no member counts as departed, and none is removed."""
    with Scenario(managers(1), hot(4), volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin()
        pods, claims = scenario.uids(PODS), scenario.uids(CLAIMS)
        setattr(scenario.process.engine_rates, rate, 1.0)
        scenario.pools(managers(1), hot(2))
        await asyncio.sleep(1800.0)
        assert scenario.uids(PODS) == pods
        assert scenario.uids(CLAIMS) == claims
        assert all(s.doc["spec"]["replicas"] == 1 for s in scenario.world.store.all(SETS))
        assert "does not answer" in scenario.waits or "Unknown" in scenario.waits
        setattr(scenario.process.engine_rates, rate, 0.0)
        await scenario.settle()


async def test_21_members_that_are_to_leave_are_upgraded_too() -> None:
    """A blocked shrink keeps its members; they must not stay at the old version."""
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin(0)
        scenario.database.create_index("wide", 2, 10 * 2**20, 5.0)
        await asyncio.sleep(60.0)
        scenario.pools(managers(1), hot(2))
        assert await scenario.until(lambda: "ShrinkRefused" in scenario.waits or "copies" in scenario.waits)
        scenario.edit(version="2.18.0")
        assert await scenario.until(lambda: {n.version for n in scenario.database.nodes.values()} == {"2.18.0"})
        scenario.pools(managers(1), hot(3))
        await scenario.settle()


async def test_22_every_disruption_has_a_fresh_check_behind_it() -> None:
    """The operator reads the database between two deletions, even if several members may be down at once."""
    with Scenario(managers(3), hot(4), update={"maxUnavailable": 2}).logged() as scenario:
        await scenario.begin()
        looks: list[float] = []

        def looked(cluster: Cluster) -> None:
            looks.append(scenario.world.now)
            scenario.run.watchdog.cluster_observed(cluster)

        scenario.process.cluster_observed = looked
        scenario.process.kill()
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        times = sorted({at for at, _ in scenario.run.watchdog.disruptions})
        assert len(times) >= 2
        for before, after in pairwise(times):
            assert any(before < look <= after for look in looks) or after - before < 1.0
        assert scenario.red == 0
