"""Restarts in kept pods, and a death after steps that the operator takes: nobody stays down, and nothing is left.

Whoever dies is the operator itself, the container of the member that is being restarted (and with it the agent), or its
pod; before the first is restarted, one member's. Rolling restarts with deaths of operators are in `test_exhaustive`.
"""

from collections.abc import Callable

import pytest

from stateward.api.values import names
from stateward.planning.model.phase import BEGUN
from stateward.simulation.opensearch.settings import ENABLE
from stateward.simulation.timing.loop import run_virtual
from stateward.simulation.world.world import Layout
from tests.simulation.restarts.test_in_place_deaths import DEATHS, phase_of
from tests.simulation.steps import Steps
from tests.simulation.story import PODS, Story, pool

pytestmark = pytest.mark.simulation

ALL = pool("all", 3, ["cluster_manager", "data"])
SMALL = Layout(zones=1, nodes_per_zone=3)


def setting(story: Story) -> None:
    story.edit(config={"indices.first": 1})


def request(story: Story) -> None:
    story.user.annotate({names.ANNOTATION_PHASE: "schedule-coordinated"})


def strike(story: Story, who: str) -> None:
    """Have somebody die: of the pods one whose process is being restarted, where there is one."""
    pods = [pod for pod in story.world.store.all(PODS) if names.LABEL_MEMBER in pod.labels]
    DEATHS[who](story, min(pods, key=lambda pod: (phase_of(pod) not in BEGUN, pod.key.name)))


async def live(change: Callable[[Story], None], fatal: int = 0, who: str = "the operator") -> int:
    """Restart everybody, with a death after one step; return how many steps were taken."""
    with Story(ALL, layout=SMALL, agents=True).told() as story:
        await story.begin(2)
        processes = {id(node) for node in story.nodes()}
        steps = Steps(story, fatal, lambda: strike(story, who))
        change(story)
        await story.settle(quiet=300.0)
        assert len(story.world.formed()) == 1
        assert not processes & {id(node) for node in story.nodes()}, "somebody was not restarted"
        assert not [pod for pod in story.world.store.all(PODS) if phase_of(pod)]
        assert ENABLE not in story.database.settings.persistent
        together = change is request
        assert story.most_down <= (3 if together else 1 + (who != "the operator")), story.most_down
        return steps.taken


@pytest.mark.parametrize(
    ("change", "who", "stride"),
    [
        (request, "the operator", 2),
        (request, "the container", 4),
        (request, "the pod", 5),
        (setting, "the container", 6),
        (setting, "the pod", 7),
    ],
)
def test_a_death_in_the_middle_of_a_restart_changes_nothing_in_the_end(
    change: Callable[[Story], None], who: str, stride: int
) -> None:
    steps = run_virtual(live(change))
    assert steps > 15
    for fatal in range(1, steps + 1, stride):
        try:
            run_virtual(live(change, fatal, who))
        except AssertionError as error:
            raise AssertionError(f"{who} dies after step {fatal} of {steps}: {error}") from error
