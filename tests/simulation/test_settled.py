"""Ready means that the operator has nothing left to write."""

import asyncio
from typing import Any

import pytest

from stateward.simulation.apiserver.store import Event
from stateward.simulation.cluster.budgets import ready
from tests.simulation.scenario import PODS, Scenario, pool

pytestmark = pytest.mark.simulation


def all_in_one(replicas: int) -> dict[str, Any]:
    return pool("all", replicas, ["cluster_manager", "data"])


@pytest.mark.parametrize("replicas", [1, 3])
async def test_a_new_cluster_is_ready_when_the_last_thing_is_written_and_not_before(replicas: int) -> None:
    """The first response of a new database changes the members' configuration: the cluster is formed.

    Here the response arrives only when all else matches the spec.
    """
    with Scenario(all_in_one(replicas)).logged() as scenario:
        writes_when_ready: list[int] = []

        def heard(kind: str, event: Event) -> None:
            if kind.endswith("osclusters") and event.new is not None and not writes_when_ready:
                conditions = event.new.doc.get("status", {}).get("conditions", [])
                if any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
                    writes_when_ready.append(scenario.run.watchdog.writes)

        scenario.world.store.subscribers.append(heard)
        scenario.process.start()
        scenario.process.engine_rates.error = 1.0
        scenario.user.create()
        assert await scenario.until(lambda: sum(map(ready, scenario.world.store.all(PODS))) == replicas)
        await asyncio.sleep(30.0)
        scenario.process.engine_rates.error = 0.0
        assert await scenario.until(lambda: writes_when_ready)
        await asyncio.sleep(120.0)
        # The write of the Ready status is counted after its watch event.
        assert scenario.run.watchdog.writes == writes_when_ready[0] + 1, list(scenario.run.watchdog.latest)


async def test_a_cluster_that_grows_in_several_steps_is_settled_after_the_last_one() -> None:
    with Scenario(all_in_one(3)).logged() as scenario:
        await scenario.begin()

        async def grow() -> None:
            for replicas, seconds in ((4, 130.0), (5, 100.0)):
                await asyncio.sleep(seconds)
                scenario.pools(all_in_one(replicas))

        growing = asyncio.create_task(grow())
        await scenario.settle()
        await growing
        assert len(scenario.nodes()) == 5
