"""Missing members are detected by a separate job, and replaced within a limit shared by all clusters."""

import asyncio
import random

import pytest

from stateward.api.values.base import Json
from stateward.engines import opensearch
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.detection.look import Findings, look
from stateward.simulation.apiserver.client import WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.opensearch.http import Rates, Wire, WorldTransport
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.scenario import PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

POLICY: Json = {"enabled": True, "after": "10m", "onTaints": [{"key": "worn", "after": "10m"}]}
WIDE: Json = {**POLICY, "maxFaultDomainsWithTaints": 3}
FOR_EVER = 1e9


def machine_of(scenario: Scenario, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in scenario.world.store.all(PODS) if p.key.name == f"{member}-0")


def wear(scenario: Scenario, machine: str) -> None:
    """Taint a machine in a way that moves no pod."""
    node = next(n for n in scenario.world.store.all("/nodes") if n.key.name == machine)
    scenario.world.context.change(node, ("spec", "taints"), [{"key": "worn", "effect": "NoSchedule"}])


def replaced(scenario: Scenario, name: str = "logs") -> dict[str, str]:
    resource = scenario.world.resource(name)
    listed = (resource.doc.get("status") or {}).get("pendingRemovals", []) if resource is not None else []
    return {entry["name"]: entry["phase"] for entry in listed}


def found(scenario: Scenario) -> str:
    resource = scenario.world.resource()
    assert resource is not None
    return resource.meta.get("annotations", {}).get("stateward.dev/missing-detected", "")


async def look_once(scenario: Scenario, *, deaf: bool = False) -> Findings:
    """Run the detection as a Job does; with `deaf` every request to the database fails."""
    context = scenario.world.context
    rng = random.Random(0)  # noqa: S311 - repeated as it is
    api = WorldApi(scenario.world.server, scenario.world.change_signal, Network(rng, context.count), "job")
    wire = Wire(rng, context.count, lambda _: None, Rates(error=1.0) if deaf else Rates())
    family = OpenSearchFamily(opensearch.driver(WorldTransport(scenario.world.databases, wire)))
    return await look(api, family, Key(NAMESPACE, "logs"), context.clock.now().timestamp())


@pytest.mark.parametrize("announced", [False, True], ids=["opensearch", "elasticsearch"])
async def test_a_missing_member_without_a_watch_event_is_detected_from_outside_and_replaced(*, announced: bool) -> None:
    with Scenario(managers(), hot(4), replacement=POLICY).logged() as scenario:
        scenario.world.databases.announced = announced
        await scenario.begin()
        assert scenario.process.api is not None
        scenario.process.api.network.lags["/nodes"] = FOR_EVER
        wear(scenario, machine_of(scenario, "logs-hot-1"))
        await asyncio.sleep(2400.0)
        assert replaced(scenario) == {}
        assert "logs-hot-1" in (await look_once(scenario)).missing
        assert found(scenario)
        await asyncio.sleep(600.0)
        await look_once(scenario)
        assert await scenario.until(lambda: "logs-hot-1" in replaced(scenario), 120.0)
        assert await scenario.until(lambda: replaced(scenario).get("logs-hot-1") == "VolumeKept", 3600.0)
        assert scenario.red == 0.0


async def test_a_finding_is_withdrawn_when_all_members_are_back_and_not_because_the_database_is_silent() -> None:
    with Scenario(managers(), hot(4), replacement=POLICY).logged() as scenario:
        await scenario.begin()
        machine = machine_of(scenario, "logs-hot-1")
        wear(scenario, machine)
        await look_once(scenario)
        node = next(n for n in scenario.world.store.all("/nodes") if n.key.name == machine)
        scenario.world.context.change(node, ("spec", "taints"), [])
        assert (await look_once(scenario, deaf=True)).unanswered
        assert found(scenario)
        assert not (await look_once(scenario)).missing
        assert not found(scenario)


async def test_clusters_share_the_places_for_replacements_and_none_is_forgotten() -> None:
    with Scenario(managers(), hot(4), replacement=WIDE).logged() as scenario:
        scenario.process.max_replacements = 1
        await scenario.begin()
        scenario.world.create({"version": "2.17.1", "pools": [managers(), hot(4)], "replacement": WIDE}, "more")
        assert await scenario.until(lambda: (db := scenario.world.database("more")) is not None and len(db.nodes) == 7)
        await asyncio.sleep(300.0)
        names = ("logs-hot-1", "more-hot-1")
        for member in names:
            wear(scenario, machine_of(scenario, member))

        def flying() -> list[str]:
            both = {**replaced(scenario), **replaced(scenario, "more")}
            return [n for n, phase in both.items() if phase in ("Waiting", "Draining", "Leaving")]

        def over() -> bool:
            assert len(flying()) <= 1
            both = {**replaced(scenario), **replaced(scenario, "more")}
            return all(both.get(name) == "VolumeKept" for name in names)

        assert await scenario.until(lambda: bool(flying()), 1200.0)
        assert await scenario.until(lambda: "operator's limit is used up" in waits(scenario), 120.0)
        assert await scenario.until(over, 4 * 3600.0)


def waits(scenario: Scenario) -> str:
    resources = [r for r in (scenario.world.resource("logs"), scenario.world.resource("more")) if r is not None]
    return " | ".join(w["message"] for r in resources for w in r.doc["status"].get("waiting", []))
