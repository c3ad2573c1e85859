"""Missing members of FoundationDB are found from outside of the operator, whatever it hears, and replaced."""

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
from tests.simulation.foundationdb.story import NAME, PODS, Story, pools

pytestmark = pytest.mark.simulation

POLICY: Json = {"enabled": True, "after": "2m", "onTaints": [{"key": "worn", "after": "2m"}]}
FOR_EVER = 1e9


def machine_of(story: Story, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in story.world.store.all(PODS) if p.key.name == f"{member}-0")


def wear(story: Story, machine: str, *, worn: bool = True) -> None:
    """Taint a machine in a way that moves no pod, or take the taint away."""
    node = next(n for n in story.world.store.all("/nodes") if n.key.name == machine)
    story.world.ground.change(node, ("spec", "taints"), [{"key": "worn", "effect": "NoSchedule"}] if worn else [])


def found(story: Story) -> str:
    return story.doc["metadata"].get("annotations", {}).get("stateward.dev/missing-detected", "")


async def look_once(story: Story, *, deaf: bool = False) -> Findings:
    """Look as a Job does: in a process of its own, which tells the database nothing; one that is deaf hears nothing."""
    ground = story.world.ground
    chance = random.Random(0)  # noqa: S311 - repeated as it is
    api = WorldApi(story.world.server, story.world.bell, Network(chance, ground.count), "job")
    told: list[str] = []
    wire = Wire(chance, ground.count, told.append, Rates(error=1.0) if deaf else Rates())
    family = FoundationDBFamily(WorldShell(story.world.foundations, wire))
    findings = await look(api, family, Key(NAMESPACE, NAME), ground.clock.now().timestamp())
    assert told == []
    return findings


async def test_what_the_operators_watch_never_tells_is_found_from_outside_and_replaced() -> None:
    with Story(replacement=POLICY, capacity=1, pools=pools(storage=4, log=3, stateless=2)).told() as story:
        await story.begin()
        assert story.process.api is not None
        story.process.api.network.lags["/nodes"] = FOR_EVER
        wear(story, machine_of(story, "logs-log-1"))
        await asyncio.sleep(400.0)
        assert story.removals() == {}
        assert set((await look_once(story)).missing) == {"logs-log-1"}
        assert found(story)
        await asyncio.sleep(180.0)
        await look_once(story)
        assert await story.until(lambda: "logs-log-1" in story.removals(), 60.0), story.doing
        assert await story.until(lambda: story.removals()["logs-log-1"] == "VolumeKept", 900.0), story.doing
        assert "logs-log-1" not in await story.processes()
        assert await story.excluded() == []
        story.check()


async def test_a_finding_is_taken_back_when_all_are_there_and_not_because_nobody_answers() -> None:
    with Story(replacement=POLICY).told() as story:
        await story.begin()
        machine = machine_of(story, "logs-storage-1")
        wear(story, machine)
        await look_once(story)
        wear(story, machine, worn=False)
        assert (await look_once(story, deaf=True)).unanswered
        assert found(story)
        assert not (await look_once(story)).missing
        assert not found(story)
