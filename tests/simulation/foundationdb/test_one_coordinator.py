"""With one copy of everything there is one coordinator; its member leaves once another one has taken over."""

import pytest

from tests.simulation.foundationdb.scenario import Scenario, pools

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize("drained", [True, False])
async def test_the_member_of_the_only_coordinator_is_replaced(*, drained: bool) -> None:
    with Scenario(redundancy="single", pools=pools(storage=3, log=3)).logged() as scenario:
        await scenario.begin()
        (voter,) = scenario.coordinators()
        requests = {"replaceWithoutDraining": [voter], "acceptDataLoss": [voter]}
        scenario.edit(members={"replace": [voter]} if drained else requests)
        assert await scenario.until(lambda: voter not in scenario.members()), scenario.doing
        assert voter not in scenario.coordinators()
        scenario.edit(members=None)
        assert await scenario.settled(), scenario.doing
        assert await scenario.excluded() == []
        scenario.check()
