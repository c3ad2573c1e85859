"""Waits of FoundationDB that something has to end: members that are away for good, or stopped on request."""

import asyncio

import pytest

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, Preconditions
from tests.simulation.foundationdb.scenario import KIND, SETS, Scenario, pools

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


async def test_the_pool_of_a_deleted_member_is_asked_for_when_the_database_cannot_recover_without_it() -> None:
    """With one copy of everything, a log of a pool that is leaving holds the only copy of what was written last."""
    with Scenario(redundancy="single", pools=pools(storage=3, log=3)).logged() as scenario:
        await scenario.begin()
        renamed = [{**p, "name": "other"} if p["name"] == "log" else p for p in pools(storage=3, log=3)]
        scenario.edit(pools=renamed)
        await asyncio.sleep(1.0)
        (workload,) = [s for s in scenario.world.store.all(SETS) if s.key.name == "logs-log-1"]
        scenario.world.server.delete(SETS, workload.key, DeleteOptions(Preconditions(workload.uid)))
        assert await scenario.until(lambda: "PoolNeeded" in scenario.doing, 1800.0), scenario.doing
        assert "the kept volume of logs-log-1 may hold data without which" in scenario.doing
        scenario.edit(pools=pools(storage=3, log=3))
        assert await scenario.settled(), scenario.doing
        scenario.check()


async def test_members_with_all_coordinators_that_are_given_up_at_once_leave_one_after_the_other() -> None:
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        voters = scenario.coordinators()
        scenario.edit(members={"replaceWithoutDraining": sorted(voters)})
        assert await scenario.until(lambda: not voters & scenario.members()), scenario.doing
        scenario.edit(members=None)
        assert await scenario.settled(), scenario.doing
        scenario.check()
