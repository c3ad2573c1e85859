"""Waits of FoundationDB that something has to end: members that are away for good, or stopped on request."""

import asyncio

import pytest

from stateward.api.values import names
from tests.simulation.foundationdb.scenario import KIND, Scenario, pools

pytestmark = pytest.mark.simulation


def annotate(scenario: Scenario, **values: str | None) -> None:
    found = scenario.world.store.all(KIND)[0]
    meta = {**found.meta, "annotations": {**found.meta.get("annotations", {}), **values}}
    scenario.world.server.update(KIND, found.key, {**found.doc, "metadata": meta}, manager="kubectl")


async def test_a_member_that_is_stopped_on_request_does_not_hold_up_the_departure_of_another_one() -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        free = sorted(m for m in scenario.members() - scenario.coordinators() if "storage" in m)
        annotate(scenario, **{names.ANNOTATION_STOPPED: free[0]})
        await asyncio.sleep(120.0)
        assert free[0] not in await scenario.processes()
        scenario.edit(members={"replace": [free[1]]})
        assert await scenario.until(lambda: free[1] not in scenario.members(), 3000.0), scenario.doing


@pytest.mark.parametrize("name", ["storage", "log"])
async def test_a_pool_is_renamed_while_the_machine_of_one_of_its_members_is_lost(name: str) -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        lost = f"logs-{name}-1"
        machine = next(
            p.container.node for p in scenario.world.foundationdb.pods.values() if p.container.pod.name == f"{lost}-0"
        )
        scenario.edit(pools=[{**p, "name": "other"} if p["name"] == name else p for p in pools()])
        await asyncio.sleep(20.0)
        scenario.world.nodes.lose(machine, power=True)
        await asyncio.sleep(60.0)
        scenario.world.nodes.remove(machine)
        gone = {m for m in scenario.members() if m.startswith(f"logs-{name}-")}
        assert await scenario.until(lambda: not gone & scenario.members(), 7200.0), scenario.doing
