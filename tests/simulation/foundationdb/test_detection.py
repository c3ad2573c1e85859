"""Missing members of FoundationDB are detected by a separate job, and replaced."""

import asyncio
import random

import pytest

from stateward.api.values.base import Json
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.foundationdb import FoundationDBFamily
from stateward.operator.detection.look import Findings, look
from stateward.simulation.apiserver.client import WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.opensearch.http import Rates, Wire
from stateward.simulation.world.foundationdb_shell import WorldShell
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import NAME, PODS, Scenario, pools

pytestmark = pytest.mark.simulation

POLICY: Json = {"enabled": True, "after": "2m", "onTaints": [{"key": "worn", "after": "2m"}]}
FOR_EVER = 1e9


def machine_of(scenario: Scenario, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in scenario.world.store.all(PODS) if p.key.name == f"{member}-0")


def wear(scenario: Scenario, machine: str, *, worn: bool = True) -> None:
    """Taint a machine in a way that moves no pod, or take the taint away."""
    node = next(n for n in scenario.world.store.all("/nodes") if n.key.name == machine)
    scenario.world.context.change(node, ("spec", "taints"), [{"key": "worn", "effect": "NoSchedule"}] if worn else [])


def found(scenario: Scenario) -> str:
    return scenario.doc["metadata"].get("annotations", {}).get("stateward.dev/missing-detected", "")


async def look_once(scenario: Scenario, *, deaf: bool = False) -> Findings:
    """Run the detection as a Job does: it only reads; with `deaf` every request fails."""
    context = scenario.world.context
    rng = random.Random(0)  # noqa: S311 - repeated as it is
    api = WorldApi(scenario.world.server, scenario.world.change_signal, Network(rng, context.count), "job")
    told: list[str] = []
    wire = Wire(rng, context.count, told.append, Rates(error=1.0) if deaf else Rates())
    family = FoundationDBFamily(WorldShell(scenario.world.foundationdb, wire))
    findings = await look(api, family, Key(NAMESPACE, NAME), context.clock.now().timestamp())
    assert told == []
    return findings


async def test_a_missing_member_without_a_watch_event_is_detected_from_outside_and_replaced() -> None:
    with Scenario(replacement=POLICY, capacity=1, pools=pools(storage=4, log=3, stateless=2)).logged() as scenario:
        await scenario.begin()
        assert scenario.process.api is not None
        scenario.process.api.network.lags["/nodes"] = FOR_EVER
        wear(scenario, machine_of(scenario, "logs-log-1"))
        await asyncio.sleep(400.0)
        assert scenario.removals() == {}
        assert set((await look_once(scenario)).missing) == {"logs-log-1"}
        assert found(scenario)
        await asyncio.sleep(180.0)
        await look_once(scenario)
        assert await scenario.until(lambda: "logs-log-1" in scenario.removals(), 60.0), scenario.doing
        assert await scenario.until(lambda: scenario.removals()["logs-log-1"] == "VolumeKept", 900.0), scenario.doing
        assert "logs-log-1" not in await scenario.processes()
        assert await scenario.excluded() == []
        scenario.check()


async def test_a_finding_is_withdrawn_when_all_members_are_back_and_not_because_the_database_is_silent() -> None:
    with Scenario(replacement=POLICY).logged() as scenario:
        await scenario.begin()
        machine = machine_of(scenario, "logs-storage-1")
        wear(scenario, machine)
        await look_once(scenario)
        wear(scenario, machine, worn=False)
        assert (await look_once(scenario, deaf=True)).unanswered
        assert found(scenario)
        assert not (await look_once(scenario)).missing
        assert not found(scenario)
