"""A status that is empty, or from before, never leads to a removal: what it does not say is asked of the world."""

import asyncio

import pytest

from stateward.api.values.base import Json
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.story import KIND, NAME
from tests.simulation.foundationdb.story import Story as Ledger
from tests.simulation.story import PODS, Story, hot, managers

pytestmark = pytest.mark.simulation

POLICY: Json = {"enabled": True, "after": "10m"}


def machine_of(story: Story | Ledger, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in story.world.store.all(PODS) if p.key.name == f"{member}-0")


async def test_an_empty_status_removes_nobody_and_time_begins_anew() -> None:
    with Story(managers(), hot(4), replacement=POLICY).told() as story:
        await story.begin()
        story.world.nodes.lose(machine_of(story, "logs-hot-1"), power=True)
        await asyncio.sleep(500.0)
        resource = story.world.resource()
        assert resource is not None
        story.process.kill()
        story.world.ground.change(resource, ("status",), {})
        await asyncio.sleep(450.0)
        assert not story.status.get("pendingRemovals"), "500 s and 450 s are no ten minutes that anybody saw"
        assert not [name for kind, name in story.removed if kind == "apps/statefulsets"]
        assert len(story.world.formed()) == 1
        assert story.red == 0.0


async def test_a_status_from_before_a_shrink_removes_nobody_else() -> None:
    with Story(managers(), hot(4)).told() as story:
        await story.begin()
        resource = story.world.resource()
        assert resource is not None
        before = resource.doc["status"]
        story.edit(members={"replace": ["logs-hot-1"]})
        await story.settle()
        story.process.kill()
        resource = story.world.resource()
        assert resource is not None
        story.world.ground.change(resource, ("status",), before)
        story.edit(members=None)
        await story.settle()
        there = {node.name for node in story.database.nodes.values()}
        assert len({name for name in there if "hot" in name}) == 4
        assert len(story.world.formed()) == 1


@pytest.mark.parametrize("moment", [0.0, 30.0])
async def test_foundationdb_is_not_made_anew_and_loses_nobody_for_an_empty_status(moment: float) -> None:
    with Ledger(replacement=POLICY).told() as story:
        await story.begin()
        story.world.nodes.lose(machine_of(story, "logs-storage-1"), power=True)
        await asyncio.sleep(moment)
        found = story.world.store.get(KIND, Key(NAMESPACE, NAME))
        assert found is not None
        story.process.kill()
        story.world.ground.change(found, ("status",), {})
        members = story.members()
        await asyncio.sleep(480.0)
        assert story.members() == members
        assert story.removals() == {}
        assert await story.excluded() == []
        story.check()
