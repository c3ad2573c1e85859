"""A cluster resource that other clients write so often that the operator's status is always too late."""

import asyncio

import pytest

from tests.simulation.failures.test_failing_rounds import condition
from tests.simulation.scenario import Scenario, hot, managers

pytestmark = pytest.mark.simulation
FAILING = "ReconciliationFailing"


async def test_a_cluster_that_is_written_all_the_time_says_why_nothing_goes_on_and_goes_on_afterwards() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()

        async def contend() -> None:
            """Two tools disagree about an annotation, and each sets it back at once."""
            for number in range(10**6):
                scenario.user.annotate({"example.com/owner": str(number % 2)})
                await asyncio.sleep(0.05)

        contending = asyncio.create_task(contend())
        try:
            scenario.edit(config={"indices.first": 1})
            assert await scenario.until(lambda: condition(scenario, "Stalled")["reason"] == FAILING, 300.0)
            assert "Conflict" in scenario.waits
        finally:
            contending.cancel()
        await scenario.settle()
        assert FAILING not in str(scenario.status)
        assert all(n.config.get("indices.first") == 1 for n in scenario.nodes())
