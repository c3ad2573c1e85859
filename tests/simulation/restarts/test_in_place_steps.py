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
from tests.simulation.scenario import PODS, Scenario, pool
from tests.simulation.steps import Steps

pytestmark = pytest.mark.simulation

ALL = pool("all", 3, ["cluster_manager", "data"])
SMALL = Layout(zones=1, nodes_per_zone=3)


def setting(scenario: Scenario) -> None:
    scenario.edit(config={"indices.first": 1})


def request(scenario: Scenario) -> None:
    scenario.user.annotate({names.ANNOTATION_PHASE: "schedule-coordinated"})


def strike(scenario: Scenario, who: str) -> None:
    """Have somebody die: of the pods one whose process is being restarted, where there is one."""
    pods = [pod for pod in scenario.world.store.all(PODS) if names.LABEL_MEMBER in pod.labels]
    DEATHS[who](scenario, min(pods, key=lambda pod: (phase_of(pod) not in BEGUN, pod.key.name)))


async def live(change: Callable[[Scenario], None], fatal: int = 0, who: str = "the operator") -> int:
    """Restart everybody, with a death after one step; return how many steps were taken."""
    with Scenario(ALL, layout=SMALL, agents=True).logged() as scenario:
        await scenario.begin(2)
        processes = {id(node) for node in scenario.nodes()}
        steps = Steps(scenario, fatal, lambda: strike(scenario, who))
        change(scenario)
        await scenario.settle(quiet=300.0)
        assert len(scenario.world.formed()) == 1
        assert not processes & {id(node) for node in scenario.nodes()}, "somebody was not restarted"
        assert not [pod for pod in scenario.world.store.all(PODS) if phase_of(pod)]
        assert ENABLE not in scenario.database.settings.persistent
        together = change is request
        assert scenario.most_down <= (3 if together else 1 + (who != "the operator")), scenario.most_down
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
    change: Callable[[Scenario], None], who: str, stride: int
) -> None:
    steps = run_virtual(live(change))
    assert steps > 15
    for fatal in range(1, steps + 1, stride):
        try:
            run_virtual(live(change, fatal, who))
        except AssertionError as error:
            raise AssertionError(f"{who} dies after step {fatal} of {steps}: {error}") from error
