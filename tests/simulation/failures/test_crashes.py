"""Crashes between two writes, and events that were missed. Numbers are those of docs/scenarios.md."""

import asyncio

import pytest

from stateward.planning.steps.upkeep.garbage_collection import PATIENCE
from stateward.simulation.opensearch.settings import ENABLE
from tests.simulation.scenario import CLAIMS, PODS, SECRETS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize(("verb", "kind"), [("patch", SETS), ("delete", SECRETS), ("delete", SETS), ("delete", CLAIMS)])
async def test_11_a_crash_while_a_member_leaves_leaks_no_volume(verb: str, kind: str, nth: int) -> None:
    with Scenario(managers(1), hot(4), volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin()
        scenario.crash_after(verb, kind, nth)
        scenario.pools(managers(1), hot(2))
        await scenario.settle()
        assert sorted(scenario.uids(CLAIMS)) == ["data-logs-hot-0", "data-logs-hot-1", "data-logs-managers-0"]


@pytest.mark.parametrize("nth", range(1, 19))
async def test_12_a_crash_after_any_write_of_the_creation_leaves_nothing_undone(nth: int) -> None:
    """It also does not wait until the ownerless Secret is collected and recreated."""
    with Scenario(managers(1), hot(2)).logged() as scenario:
        writes = [0]

        def wrote(_verb: str, _kind: str) -> None:
            writes[0] += 1
            if writes[0] == nth:
                scenario.process.kill()

        scenario.process.write_done = wrote
        await scenario.begin()
        assert scenario.world.now < PATIENCE
        await scenario.settle()
        assert len(scenario.world.formed()) == 1


@pytest.mark.parametrize("call", ["PUT /_cluster/settings", "POST /_flush"])
async def test_14_the_allocation_is_given_back_after_a_crash(call: str) -> None:
    """The operator is killed right after it has limited the allocation, and the user reverts the change meanwhile."""
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin()

        def told(what: str) -> None:
            if what == call:
                scenario.process.command_done = lambda _: None
                scenario.process.kill()
                scenario.edit(config={})

        scenario.process.command_done = told
        scenario.edit(config={"indices.first": 1})
        assert await scenario.until(lambda: not scenario.process.running)
        await scenario.settle()
        assert ENABLE not in scenario.database.settings.persistent


@pytest.mark.parametrize(("lag", "pause"), [(40.0, 5.0), (20.0, 20.0)])
async def test_16_scale_events_that_were_missed_end_the_same(lag: float, pause: float) -> None:
    """The replicas change up and down while the operator's watches are behind; the last value counts."""
    with Scenario(managers(1), hot(3), volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.process.lags["stateward.dev/osclusters"] = lag
        for replicas in (5, 2, 4, 3, 5, 4):
            scenario.pools(managers(1), hot(replicas))
            await asyncio.sleep(pause)
        await scenario.settle()
        assert {name: uid for name, uid in scenario.uids(PODS).items() if name in pods} == pods
        assert sorted(scenario.uids(CLAIMS)) == sorted(
            ["data-logs-managers-0", *(f"data-logs-hot-{number}" for number in range(4))]
        )
