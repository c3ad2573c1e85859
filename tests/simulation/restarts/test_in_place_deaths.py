"""Every phase of a restart in kept pods, and who may die in it: the operator, the agent with its container, the pod."""

from collections.abc import Callable

import pytest

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.simulation.apiserver.store import Event, Stored
from tests.simulation.story import PODS, Story, hot, managers

pytestmark = pytest.mark.simulation

ROLLING = ("schedule", "schedule-rolling", "stop", "start")
TOGETHER = ("schedule-coordinated", "stop-coordinated", "start-coordinated")


def operator_dies(story: Story, _pod: Stored) -> None:
    story.process.kill()


def container_dies(story: Story, pod: Stored) -> None:
    run = story.world.kubelets.runs.get(pod.uid)
    if run is not None:
        story.world.kubelets.crash(run, 137, "Error")


def pod_is_deleted(story: Story, pod: Stored) -> None:
    if story.object(PODS, pod.key.name) is not None:
        story.world.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))


DEATHS: dict[str, Callable[[Story, Stored], None]] = {
    "the operator": operator_dies,
    "the container": container_dies,
    "the pod": pod_is_deleted,
}


def strike(story: Story, phase: str, death: Callable[[Story, Stored], None]) -> list[str]:
    """Have somebody die half a second after the first pod has reached a phase; return whom it has met."""
    met: list[str] = []

    def heard(kind: str, event: Event) -> None:
        new = event.new
        if kind == PODS and new is not None and not met and phase_of(new) == phase:
            met.append(new.key.name)
            story.world.ground.later(0.5, death, story, new)

    story.world.store.subscribers.append(heard)
    return met


def phase_of(pod: Stored) -> str:
    return pod.meta.get("annotations", {}).get(names.ANNOTATION_PHASE, "")


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS.keys())
@pytest.mark.parametrize("phase", [*ROLLING, *TOGETHER])
async def test_whoever_dies_in_whatever_phase_everybody_is_restarted_and_nobody_stays_down(
    phase: str, death: Callable[[Story, Stored], None]
) -> None:
    with Story(managers(1), hot(2), agents=True).told() as story:
        await story.begin()
        running = {node.name: id(node) for node in story.nodes()}
        met = strike(story, phase, death)
        asked = {"stop": "schedule-rolling", "start": "schedule-rolling"}.get(phase, phase)
        if phase in TOGETHER:
            asked = "schedule-coordinated"
        story.edit(config={"indices.first": 1})
        story.user.annotate({names.ANNOTATION_PHASE: asked})
        await story.settle(quiet=300.0)
        assert met
        assert all(node.config["indices.first"] == 1 for node in story.nodes())
        assert all(id(node) != running[node.name] for node in story.nodes())
        assert not [pod for pod in story.world.store.all(PODS) if phase_of(pod)]
        assert story.most_down <= (3 if phase in TOGETHER or asked == "schedule" else 1 + (death is pod_is_deleted))
