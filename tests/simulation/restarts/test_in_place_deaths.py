"""Each phase of a restart in kept pods, with the death of the operator, of the agent's container, or of the pod."""

from collections.abc import Callable

import pytest

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.simulation.apiserver.store import Event, Stored
from tests.simulation.scenario import PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

ROLLING = ("schedule", "schedule-rolling", "stop", "start")
TOGETHER = ("schedule-coordinated", "stop-coordinated", "start-coordinated")


def operator_dies(scenario: Scenario, _pod: Stored) -> None:
    scenario.process.kill()


def container_dies(scenario: Scenario, pod: Stored) -> None:
    run = scenario.world.kubelets.runs.get(pod.uid)
    if run is not None:
        scenario.world.kubelets.crash(run, 137, "Error")


def pod_is_deleted(scenario: Scenario, pod: Stored) -> None:
    if scenario.object(PODS, pod.key.name) is not None:
        scenario.world.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))


DEATHS: dict[str, Callable[[Scenario, Stored], None]] = {
    "the operator": operator_dies,
    "the container": container_dies,
    "the pod": pod_is_deleted,
}


def strike(scenario: Scenario, phase: str, death: Callable[[Scenario, Stored], None]) -> list[str]:
    """Kill something half a second after the first pod has reached a phase; return the killed members."""
    met: list[str] = []

    def heard(kind: str, event: Event) -> None:
        new = event.new
        if kind == PODS and new is not None and not met and phase_of(new) == phase:
            met.append(new.key.name)
            scenario.world.context.later(0.5, death, scenario, new)

    scenario.world.store.subscribers.append(heard)
    return met


def phase_of(pod: Stored) -> str:
    return pod.meta.get("annotations", {}).get(names.ANNOTATION_PHASE, "")


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS.keys())
@pytest.mark.parametrize("phase", [*ROLLING, *TOGETHER])
async def test_a_death_in_any_phase_still_restarts_each_member_and_leaves_none_down(
    phase: str, death: Callable[[Scenario, Stored], None]
) -> None:
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        running = {node.name: id(node) for node in scenario.nodes()}
        met = strike(scenario, phase, death)
        asked = {"stop": "schedule-rolling", "start": "schedule-rolling"}.get(phase, phase)
        if phase in TOGETHER:
            asked = "schedule-coordinated"
        scenario.edit(config={"indices.first": 1})
        scenario.user.annotate({names.ANNOTATION_PHASE: asked})
        await scenario.settle(quiet=300.0)
        assert met
        assert all(node.config["indices.first"] == 1 for node in scenario.nodes())
        assert all(id(node) != running[node.name] for node in scenario.nodes())
        assert not [pod for pod in scenario.world.store.all(PODS) if phase_of(pod)]
        # Half a second after the phase was written, another member than the dying one may be stopped already.
        another = death is pod_is_deleted or (death is container_dies and phase == "schedule-rolling")
        assert scenario.most_down <= (3 if phase in TOGETHER or asked == "schedule" else 1 + another)
