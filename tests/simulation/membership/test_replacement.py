"""Missing members are replaced by the whole operator, over time and across its restarts (docs/scenarios.md)."""

import asyncio

import pytest

from stateward.api.values.base import Json
from stateward.simulation.world.world import NAMESPACE, Layout
from tests.simulation.scenario import CLAIMS, PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

POLICY: Json = {"enabled": True, "after": "10m"}


def node_of(scenario: Scenario, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in scenario.world.store.all(PODS) if p.key.name == f"{member}-0")


def placed(scenario: Scenario, member: str) -> str:
    """Return the machine that a member's pod was given; empty as long as there is none."""
    pods = (pod for pod in scenario.world.store.all(PODS) if pod.key.name == f"{member}-0")
    return next((pod.doc["spec"].get("nodeName", "") for pod in pods), "")


def in_database(scenario: Scenario) -> set[str]:
    return {node.name for node in scenario.database.nodes.values()}


def removals(scenario: Scenario) -> dict[str, str]:
    resource = scenario.world.resource()
    listed = (resource.doc.get("status") or {}).get("pendingRemovals", []) if resource is not None else []
    return {entry["name"]: entry["phase"] for entry in listed}


def lone_data_node(scenario: Scenario) -> tuple[str, str]:
    """Return a data member that shares its machine with no manager, and the machine."""
    managing = {node_of(scenario, f"logs-managers-{i}") for i in range(3)}
    names = sorted(name for name in in_database(scenario) if "hot" in name)
    return next((name, node_of(scenario, name)) for name in names if node_of(scenario, name) not in managing)


@pytest.mark.parametrize("dies", [False, True])
async def test_a_member_whose_machine_stays_away_is_replaced_and_its_old_pod_does_no_harm(dies: bool) -> None:
    with Scenario(managers(), hot(5), replacement=POLICY).logged() as scenario:
        await scenario.begin()
        member, machine = lone_data_node(scenario)
        scenario.world.nodes.lose(machine, power=True)
        await asyncio.sleep(300.0)
        assert member not in removals(scenario)
        if dies:
            scenario.process.kill()
            await asyncio.sleep(60.0)
            scenario.process.start()
        assert await scenario.until(lambda: "logs-hot-5" in in_database(scenario), 1800.0)
        assert await scenario.until(lambda: removals(scenario).get(member) == "Terminating", 900.0)
        assert scenario.database.health == "green"
        scenario.world.nodes.restore(machine)
        assert await scenario.until(lambda: removals(scenario).get(member) == "VolumeKept", 600.0)
        await asyncio.sleep(600.0)
        assert member not in in_database(scenario)
        assert any(claim.key.name.endswith(member) for claim in scenario.world.store.all(CLAIMS))
        assert set(scenario.disrupted()) <= {member}


async def test_a_new_member_whose_machine_is_lost_before_it_joins_does_not_hold_the_replacement() -> None:
    with Scenario(managers(), hot(), layout=Layout(nodes_per_zone=4), replacement=POLICY).logged() as scenario:
        await scenario.begin()
        member, machine = lone_data_node(scenario)
        scenario.world.nodes.lose(machine, power=True)
        assert await scenario.until(lambda: bool(placed(scenario, "logs-hot-3")), 1800.0)
        scenario.world.nodes.lose(placed(scenario, "logs-hot-3"), power=True)
        assert await scenario.until(lambda: "logs-hot-4" in in_database(scenario), 1800.0)
        assert await scenario.until(lambda: removals(scenario).get(member) == "Terminating", 900.0)
        assert "logs-hot-3" not in in_database(scenario)
        assert scenario.database.health == "green"
        assert set(scenario.disrupted()) <= {member, "logs-hot-3"}


async def test_keep_cancels_a_replacement_while_it_continues() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.edit(members={"replace": ["logs-hot-1"]})
        assert await scenario.until(lambda: removals(scenario).get("logs-hot-1") in ("Waiting", "Draining"), 300.0)
        scenario.edit(members={"keep": ["logs-hot-1"]})
        await scenario.settle()
        assert in_database(scenario) >= {"logs-hot-0", "logs-hot-1", "logs-hot-2"}
        assert removals(scenario) == {}


async def test_34_a_replacement_that_waits_for_quota_takes_no_other_member_down_and_reports_it() -> None:
    with Scenario(managers(), hot(5), replacement=POLICY).logged() as scenario:
        await scenario.begin()
        member, machine = lone_data_node(scenario)
        scenario.world.server.admission.quota[NAMESPACE, PODS] = 8
        scenario.world.nodes.lose(machine, power=True)
        await asyncio.sleep(3600.0)
        assert set(scenario.disrupted()) <= {member}
        assert member in scenario.waits or "logs-hot-5" in scenario.waits
        scenario.world.server.admission.quota.clear()
        assert await scenario.until(lambda: "logs-hot-5" in in_database(scenario), 900.0)


async def test_a_member_replaced_by_name_moves_its_data_first() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.edit(members={"replace": ["logs-hot-0"]})
        assert await scenario.until(lambda: "logs-hot-3" in in_database(scenario), 600.0)
        await scenario.settle()
        assert "logs-hot-0" not in in_database(scenario)
        assert scenario.red == 0.0
