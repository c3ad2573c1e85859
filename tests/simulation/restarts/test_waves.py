"""Two operators share a world: a cluster moves to the operator of a wave and back, and is never managed by both."""

import asyncio

import pytest

from stateward.api.values.names import ANNOTATION_CLAIM, LABEL_WAVE
from stateward.kube.objects.resource import Selection
from stateward.operator.objects.waves import HANDOVER
from stateward.simulation.apiserver.audit import Write
from stateward.simulation.apiserver.documents import put
from stateward.simulation.properties.invariants import Watchdog
from stateward.simulation.world.operators import Process
from tests.simulation.scenario import PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation


class Writers:
    """Notes which operator writes, and has every write checked as in any run."""

    def __init__(self, name: str, watchdog: Watchdog, times: dict[str, list[float]], scenario: Scenario) -> None:
        self._name, self._watchdog, self._times, self._scenario = name, watchdog, times, scenario

    def read(self, kind: str, key: object) -> None:
        self._watchdog.read(kind, key)  # pyright: ignore[reportArgumentType]

    def listed(self, kind: str, selection: Selection) -> None:
        self._watchdog.listed(kind, selection)

    def writing(self, write: Write) -> None:
        self._watchdog.writing(write)

    def wrote(self, write: Write) -> None:
        self._watchdog.wrote(write)
        if write.kind in {"apps/statefulsets", PODS}:
            self._times.setdefault(self._name, []).append(self._scenario.world.now)


def label(scenario: Scenario, wave: str) -> None:
    resource = scenario.world.resource()
    assert resource is not None
    labels = {LABEL_WAVE: wave} if wave else {}
    scenario.world.store.put(resource.kind, put(resource.doc, ("metadata", "labels"), labels), resource.managers)


def claim(scenario: Scenario) -> str:
    resource = scenario.world.resource()
    assert resource is not None
    return str(resource.meta.get("annotations", {}).get(ANNOTATION_CLAIM, ""))


def of_a_wave(scenario: Scenario, times: dict[str, list[float]]) -> Process:
    """Start the operator of a wave beside the other one, and note the writes of both."""
    process = Process(scenario.world, "wave")
    process.wave = "canary"
    watchdog = scenario.run.watchdog
    process.cluster_observed = watchdog.cluster_observed
    process.audit = Writers("canary", watchdog, times, scenario)
    process.start()
    return process


async def test_a_cluster_moves_to_a_wave_and_back_without_a_restart() -> None:
    with Scenario(managers(3), hot(3)).logged() as scenario:
        times: dict[str, list[float]] = {}
        await scenario.begin()
        pods = scenario.uids(PODS)
        wave = of_a_wave(scenario, times)
        label(scenario, "canary")
        assert await scenario.until(lambda: claim(scenario) == "canary")
        await asyncio.sleep(HANDOVER + 60)
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert times["canary"], "the operator of the wave applied the change"
        label(scenario, "")
        assert await scenario.until(lambda: not claim(scenario))
        before = len(times["canary"])
        scenario.edit(config={"indices.first": 2})
        await scenario.settle()
        assert len(times["canary"]) == before, "the other operator applied the change"
        wave.kill()


@pytest.mark.parametrize("after", [0.0, 3.0, 20.0, 60.0])
async def test_a_cluster_that_moves_in_the_middle_of_a_rollout_stays_whole(after: float) -> None:
    with Scenario(managers(3), hot(3)).logged() as scenario:
        times: dict[str, list[float]] = {}
        await scenario.begin()
        wave = of_a_wave(scenario, times)
        scenario.edit(config={"indices.first": 1})
        await asyncio.sleep(after)
        label(scenario, "canary")
        assert await scenario.until(lambda: claim(scenario) == "canary")
        claimed = scenario.world.now
        await scenario.settle()
        assert not times.get("canary") or min(times["canary"]) > claimed + HANDOVER - 1.0
        wave.kill()


async def test_a_claim_whose_operator_is_gone_is_removed_by_hand() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.user.annotate({ANNOTATION_CLAIM: "canary"})
        await asyncio.sleep(60)
        scenario.edit(config={"indices.first": 1})
        await asyncio.sleep(600)
        assert scenario.disrupted() == []
        scenario.user.annotate({ANNOTATION_CLAIM: None})
        await scenario.settle()
        assert len(scenario.disrupted()) == 3
