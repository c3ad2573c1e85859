"""Missing members are found whatever the operator hears, and replaced within a limit that all clusters share."""

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
from tests.simulation.story import PODS, Story, hot, managers

pytestmark = pytest.mark.simulation

POLICY: Json = {"enabled": True, "after": "10m", "onTaints": [{"key": "worn", "after": "10m"}]}
WIDE: Json = {**POLICY, "maxFaultDomainsWithTaints": 3}
FOR_EVER = 1e9


def machine_of(story: Story, member: str) -> str:
    return next(p.doc["spec"]["nodeName"] for p in story.world.store.all(PODS) if p.key.name == f"{member}-0")


def wear(story: Story, machine: str) -> None:
    """Taint a machine in a way that moves no pod."""
    node = next(n for n in story.world.store.all("/nodes") if n.key.name == machine)
    story.world.ground.change(node, ("spec", "taints"), [{"key": "worn", "effect": "NoSchedule"}])


def replaced(story: Story, name: str = "logs") -> dict[str, str]:
    resource = story.world.resource(name)
    listed = (resource.doc.get("status") or {}).get("pendingRemovals", []) if resource is not None else []
    return {entry["name"]: entry["phase"] for entry in listed}


def found(story: Story) -> str:
    resource = story.world.resource()
    assert resource is not None
    return resource.meta.get("annotations", {}).get("stateward.dev/missing-detected", "")


async def look_once(story: Story, *, deaf: bool = False) -> Findings:
    """Look as a Job does: in a process of its own; one that is deaf hears nothing of the database."""
    ground = story.world.ground
    chance = random.Random(0)  # noqa: S311 - repeated as it is
    api = WorldApi(story.world.server, story.world.bell, Network(chance, ground.count), "job")
    wire = Wire(chance, ground.count, lambda _: None, Rates(error=1.0) if deaf else Rates())
    family = OpenSearchFamily(opensearch.driver(WorldTransport(story.world.databases, wire)))
    return await look(api, family, Key(NAMESPACE, "logs"), ground.clock.now().timestamp())


@pytest.mark.parametrize("announced", [False, True], ids=["opensearch", "elasticsearch"])
async def test_what_the_operators_watch_never_tells_is_found_from_outside_and_replaced(*, announced: bool) -> None:
    with Story(managers(), hot(4), replacement=POLICY).told() as story:
        story.world.databases.announced = announced
        await story.begin()
        assert story.process.api is not None
        story.process.api.network.lags["/nodes"] = FOR_EVER
        wear(story, machine_of(story, "logs-hot-1"))
        await asyncio.sleep(2400.0)
        assert replaced(story) == {}
        assert "logs-hot-1" in (await look_once(story)).missing
        assert found(story)
        await asyncio.sleep(600.0)
        await look_once(story)
        assert await story.until(lambda: "logs-hot-1" in replaced(story), 120.0)
        assert await story.until(lambda: replaced(story).get("logs-hot-1") == "VolumeKept", 3600.0)
        assert story.red == 0.0


async def test_a_finding_is_taken_back_when_all_are_there_and_not_because_nobody_answers() -> None:
    with Story(managers(), hot(4), replacement=POLICY).told() as story:
        await story.begin()
        machine = machine_of(story, "logs-hot-1")
        wear(story, machine)
        await look_once(story)
        node = next(n for n in story.world.store.all("/nodes") if n.key.name == machine)
        story.world.ground.change(node, ("spec", "taints"), [])
        assert (await look_once(story, deaf=True)).unanswered
        assert found(story)
        assert not (await look_once(story)).missing
        assert not found(story)


async def test_clusters_share_the_places_for_replacements_and_none_is_forgotten() -> None:
    with Story(managers(), hot(4), replacement=WIDE).told() as story:
        story.process.max_replacements = 1
        await story.begin()
        story.world.create({"version": "2.17.1", "pools": [managers(), hot(4)], "replacement": WIDE}, "more")
        assert await story.until(lambda: (db := story.world.database("more")) is not None and len(db.nodes) == 7)
        await asyncio.sleep(300.0)
        names = ("logs-hot-1", "more-hot-1")
        for member in names:
            wear(story, machine_of(story, member))

        def flying() -> list[str]:
            both = {**replaced(story), **replaced(story, "more")}
            return [n for n, phase in both.items() if phase in ("Waiting", "Draining", "Leaving")]

        def over() -> bool:
            assert len(flying()) <= 1
            both = {**replaced(story), **replaced(story, "more")}
            return all(both.get(name) == "VolumeKept" for name in names)

        assert await story.until(lambda: bool(flying()), 1200.0)
        assert await story.until(lambda: "operator's limit is used up" in waits(story), 120.0)
        assert await story.until(over, 4 * 3600.0)


def waits(story: Story) -> str:
    resources = [r for r in (story.world.resource("logs"), story.world.resource("more")) if r is not None]
    return " | ".join(w["message"] for r in resources for w in r.doc["status"].get("waiting", []))
