"""A status that is empty, or from before, never leads to a removal: what it does not say is asked of the world."""

import asyncio

import pytest

from stateward.api.values.base import Json
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import KIND, NAME
from tests.simulation.foundationdb.scenario import Scenario as Ledger
from tests.simulation.scenario import PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

POLICY: Json = {"enabled": True, "after": "10m"}


def machine_of(scenario: Scenario | Ledger, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in scenario.world.store.all(PODS) if p.key.name == f"{member}-0")


async def test_an_empty_status_removes_no_member_and_time_begins_again() -> None:
    with Scenario(managers(), hot(4), replacement=POLICY).logged() as scenario:
        await scenario.begin()
        scenario.world.nodes.lose(machine_of(scenario, "logs-hot-1"), power=True)
        await asyncio.sleep(500.0)
        resource = scenario.world.resource()
        assert resource is not None
        scenario.process.kill()
        scenario.world.context.change(resource, ("status",), {})
        await asyncio.sleep(450.0)
        assert not scenario.status.get("pendingRemovals"), "500 s and 450 s are not ten observed minutes"
        assert not [name for kind, name in scenario.removed if kind == "apps/statefulsets"]
        assert len(scenario.world.formed()) == 1
        assert scenario.red == 0.0


async def test_a_status_from_before_a_shrink_removes_no_other_member() -> None:
    with Scenario(managers(), hot(4)).logged() as scenario:
        await scenario.begin()
        resource = scenario.world.resource()
        assert resource is not None
        before = resource.doc["status"]
        scenario.edit(members={"replace": ["logs-hot-1"]})
        await scenario.settle()
        scenario.process.kill()
        resource = scenario.world.resource()
        assert resource is not None
        scenario.world.context.change(resource, ("status",), before)
        scenario.edit(members=None)
        await scenario.settle()
        there = {node.name for node in scenario.database.nodes.values()}
        assert len({name for name in there if "hot" in name}) == 4
        assert len(scenario.world.formed()) == 1


@pytest.mark.parametrize("moment", [0.0, 30.0])
async def test_foundationdb_is_not_recreated_and_loses_no_member_for_an_empty_status(moment: float) -> None:
    with Ledger(replacement=POLICY).logged() as scenario:
        await scenario.begin()
        scenario.world.nodes.lose(machine_of(scenario, "logs-storage-1"), power=True)
        await asyncio.sleep(moment)
        found = scenario.world.store.get(KIND, Key(NAMESPACE, NAME))
        assert found is not None
        scenario.process.kill()
        scenario.world.context.change(found, ("status",), {})
        members = scenario.members()
        await asyncio.sleep(480.0)
        assert scenario.members() == members
        assert scenario.removals() == {}
        assert await scenario.excluded() == []
        scenario.check()
