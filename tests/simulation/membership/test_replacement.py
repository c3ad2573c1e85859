"""Members that stay away are replaced, in the whole operator, over time and across its death (docs/scenarios.md)."""

import asyncio

import pytest

from stateward.api.values.base import Json
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.story import CLAIMS, PODS, Story, hot, managers

pytestmark = pytest.mark.simulation

POLICY: Json = {"enabled": True, "after": "10m"}


def node_of(story: Story, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in story.world.store.all(PODS) if p.key.name == f"{member}-0")


def in_database(story: Story) -> set[str]:
    return {node.name for node in story.database.nodes.values()}


def removals(story: Story) -> dict[str, str]:
    resource = story.world.resource()
    listed = (resource.doc.get("status") or {}).get("pendingRemovals", []) if resource is not None else []
    return {entry["name"]: entry["phase"] for entry in listed}


def lone_data_node(story: Story) -> tuple[str, str]:
    """Return a data member that shares its machine with no manager, and the machine."""
    managing = {node_of(story, f"logs-managers-{i}") for i in range(3)}
    names = sorted(name for name in in_database(story) if "hot" in name)
    return next((name, node_of(story, name)) for name in names if node_of(story, name) not in managing)


@pytest.mark.parametrize("dies", [False, True])
async def test_a_member_whose_machine_stays_away_is_replaced_and_its_old_pod_does_no_harm(dies: bool) -> None:
    with Story(managers(), hot(5), replacement=POLICY).told() as story:
        await story.begin()
        member, machine = lone_data_node(story)
        story.world.nodes.lose(machine, power=True)
        await asyncio.sleep(300.0)
        assert member not in removals(story)
        if dies:
            story.process.kill()
            await asyncio.sleep(60.0)
            story.process.start()
        assert await story.until(lambda: "logs-hot-5" in in_database(story), 1800.0)
        assert await story.until(lambda: removals(story).get(member) == "Terminating", 900.0)
        assert story.database.health == "green"
        story.world.nodes.restore(machine)
        assert await story.until(lambda: removals(story).get(member) == "VolumeKept", 600.0)
        await asyncio.sleep(600.0)
        assert member not in in_database(story)
        assert any(claim.key.name.endswith(member) for claim in story.world.store.all(CLAIMS))
        assert set(story.disrupted()) <= {member}


async def test_keep_takes_a_replacement_back_while_it_goes_on() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        story.edit(members={"replace": ["logs-hot-1"]})
        assert await story.until(lambda: removals(story).get("logs-hot-1") in ("Waiting", "Draining"), 300.0)
        story.edit(members={"keep": ["logs-hot-1"]})
        await story.settle()
        assert in_database(story) >= {"logs-hot-0", "logs-hot-1", "logs-hot-2"}
        assert removals(story) == {}


async def test_34_a_replacement_that_waits_for_quota_takes_nobody_else_down_and_says_so() -> None:
    with Story(managers(), hot(5), replacement=POLICY).told() as story:
        await story.begin()
        member, machine = lone_data_node(story)
        story.world.server.admission.quota[NAMESPACE, PODS] = 8
        story.world.nodes.lose(machine, power=True)
        await asyncio.sleep(3600.0)
        assert set(story.disrupted()) <= {member}
        assert member in story.waits or "logs-hot-5" in story.waits
        story.world.server.admission.quota.clear()
        assert await story.until(lambda: "logs-hot-5" in in_database(story), 900.0)


async def test_a_member_replaced_by_name_hands_its_data_over_first() -> None:
    with Story(managers(), hot(3)).told() as story:
        await story.begin()
        story.edit(members={"replace": ["logs-hot-0"]})
        assert await story.until(lambda: "logs-hot-3" in in_database(story), 600.0)
        await story.settle()
        assert "logs-hot-0" not in in_database(story)
        assert story.red == 0.0
