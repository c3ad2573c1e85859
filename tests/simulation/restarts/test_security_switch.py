"""Security switched on and off with data: all members are stopped before any is started, in their pods.

Members of the model with TLS and those without do not join each other, and answer no request of the other kind: what
restarts them one after the other would end without a quorum.
"""

from collections.abc import Callable

import pytest

from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.settings import ENABLE
from stateward.simulation.timing.loop import run_virtual
from tests.simulation.restarts.test_in_place_deaths import DEATHS, TOGETHER, phase_of, strike
from tests.simulation.scenario import PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation
OFF, ON = {"enabled": False}, {"enabled": True}
SPECS = {"on": (OFF, ON), "off": (ON, OFF)}


async def switched(before: dict[str, bool], after: dict[str, bool], prepare: Callable[[Scenario], object]) -> Scenario:
    """Switch the security of a cluster with data, and require that it ends as it should; return what happened."""
    with Scenario(managers(1), hot(2), agents=True, security=before).logged() as scenario:
        await scenario.begin()
        pods, processes = scenario.uids(PODS), {id(node) for node in scenario.nodes()}
        met = prepare(scenario)
        scenario.edit(security=after)
        await scenario.settle(quiet=300.0)
        assert met is None or met
        assert {node.secured for node in scenario.nodes()} == {after["enabled"]}
        assert not processes & {id(node) for node in scenario.nodes()}
        assert not [pod for pod in scenario.world.store.all(PODS) if phase_of(pod)]
        assert ENABLE not in scenario.database.settings.persistent
        assert scenario.status["security"].get("enabled", False) is after["enabled"]
        scenario.removed = [(kind, name) for kind, name in scenario.removed if kind == PODS]
        assert scenario.removed or scenario.uids(PODS) == pods
        return scenario


@pytest.mark.parametrize(("before", "after"), SPECS.values(), ids=SPECS.keys())
async def test_security_is_switched_in_kept_pods_with_all_processes_down_once(
    before: dict[str, bool], after: dict[str, bool]
) -> None:
    scenario = await switched(before, after, lambda _: None)
    assert scenario.removed == []
    assert scenario.most_down == 3
    assert len(scenario.database.objects.users()) == 1


@pytest.mark.parametrize("who", DEATHS)
@pytest.mark.parametrize("phase", TOGETHER)
@pytest.mark.parametrize(("before", "after"), SPECS.values(), ids=SPECS.keys())
async def test_a_death_in_any_phase_of_the_switch_does_not_stop_it(
    before: dict[str, bool], after: dict[str, bool], phase: str, who: str
) -> None:
    scenario = await switched(before, after, lambda scenario: strike(scenario, phase, DEATHS[who]))
    assert len(scenario.removed) <= (who != "the operator")


def test_an_operator_that_dies_in_the_switch_is_followed_by_one_that_continues() -> None:
    """After every fifth of its steps: Secrets, templates, phases, words for agents, the first administrator."""
    taken = [0]

    def count(scenario: Scenario, fatal: int = 0) -> None:
        taken[0] = 0

        def step(*_: object) -> None:
            taken[0] += 1
            if taken[0] == fatal:
                scenario.process.kill()

        scenario.process.write_done, scenario.process.command_done = step, step

    run_virtual(switched(OFF, ON, count))
    steps = taken[0]
    assert steps > 30
    for fatal in range(1, steps + 1, 5):
        run_virtual(switched(OFF, ON, lambda scenario, fatal=fatal: count(scenario, fatal)))


async def test_a_switch_that_is_reverted_in_the_middle_ends_like_the_beginning() -> None:
    def taken_back(scenario: Scenario) -> list[str]:
        return strike(scenario, "start-coordinated", revert)

    def revert(scenario: Scenario, _pod: Stored) -> None:
        scenario.edit(security=OFF)

    with Scenario(managers(1), hot(2), agents=True, security=OFF).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        met = taken_back(scenario)
        scenario.edit(security=ON)
        assert await scenario.until(lambda: met)
        await scenario.settle()
        assert {node.secured for node in scenario.nodes()} == {False}
        assert scenario.uids(PODS) == pods
