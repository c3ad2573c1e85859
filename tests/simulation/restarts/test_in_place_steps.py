"""Restarts in kept pods with a death after each step of the operator: no member stays down, and nothing is left behind.

The test kills the operator, or the container (with the agent) or the pod of the restarting member; before the first
restart, those of one member. Rolling restarts with deaths of operators are in `test_exhaustive`.
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
    """Kill a pod or container: that of a restarting member if there is one."""
    pods = [pod for pod in scenario.world.store.all(PODS) if names.LABEL_MEMBER in pod.labels]
    DEATHS[who](scenario, min(pods, key=lambda pod: (phase_of(pod) not in BEGUN, pod.key.name)))


async def live(change: Callable[[Scenario], None], fatal: int = 0, who: str = "the operator") -> int:
    """Restart all members, with a death after one step; return the number of steps."""
    with Scenario(ALL, layout=SMALL, agents=True).logged() as scenario:
        await scenario.begin(2)
        processes = {id(node) for node in scenario.nodes()}
        steps = Steps(scenario, fatal, lambda: strike(scenario, who))
        change(scenario)
        await scenario.settle(quiet=300.0)
        assert len(scenario.world.formed()) == 1
        assert not processes & {id(node) for node in scenario.nodes()}, "a member was not restarted"
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
