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
from tests.simulation.story import PODS, Story, hot, managers

pytestmark = pytest.mark.simulation
OFF, ON = {"enabled": False}, {"enabled": True}
SPECS = {"on": (OFF, ON), "off": (ON, OFF)}


async def switched(before: dict[str, bool], after: dict[str, bool], prepare: Callable[[Story], object]) -> Story:
    """Switch the security of a cluster with data, and require that it ends as it should; return what happened."""
    with Story(managers(1), hot(2), agents=True, security=before).told() as story:
        await story.begin()
        pods, processes = story.uids(PODS), {id(node) for node in story.nodes()}
        met = prepare(story)
        story.edit(security=after)
        await story.settle(quiet=300.0)
        assert met is None or met
        assert {node.secured for node in story.nodes()} == {after["enabled"]}
        assert not processes & {id(node) for node in story.nodes()}
        assert not [pod for pod in story.world.store.all(PODS) if phase_of(pod)]
        assert ENABLE not in story.database.settings.persistent
        assert story.status["security"].get("enabled", False) is after["enabled"]
        story.removed = [(kind, name) for kind, name in story.removed if kind == PODS]
        assert story.removed or story.uids(PODS) == pods
        return story


@pytest.mark.parametrize(("before", "after"), SPECS.values(), ids=SPECS.keys())
async def test_security_is_switched_in_kept_pods_with_all_processes_down_once(
    before: dict[str, bool], after: dict[str, bool]
) -> None:
    story = await switched(before, after, lambda _: None)
    assert story.removed == []
    assert story.most_down == 3
    assert len(story.database.users) == 1


@pytest.mark.parametrize("who", DEATHS)
@pytest.mark.parametrize("phase", TOGETHER)
@pytest.mark.parametrize(("before", "after"), SPECS.values(), ids=SPECS.keys())
async def test_whoever_dies_in_whatever_phase_of_the_switch_it_goes_on(
    before: dict[str, bool], after: dict[str, bool], phase: str, who: str
) -> None:
    story = await switched(before, after, lambda story: strike(story, phase, DEATHS[who]))
    assert len(story.removed) <= (who != "the operator")


def test_an_operator_that_dies_in_the_switch_is_followed_by_one_that_goes_on() -> None:
    """After every fifth of its steps: Secrets, templates, phases, words for agents, the first administrator."""
    taken = [0]

    def count(story: Story, fatal: int = 0) -> None:
        taken[0] = 0

        def step(*_: object) -> None:
            taken[0] += 1
            if taken[0] == fatal:
                story.process.kill()

        story.process.wrote, story.process.told = step, step

    run_virtual(switched(OFF, ON, count))
    steps = taken[0]
    assert steps > 30
    for fatal in range(1, steps + 1, 5):
        run_virtual(switched(OFF, ON, lambda story, fatal=fatal: count(story, fatal)))


async def test_a_switch_that_is_taken_back_in_the_middle_ends_like_the_beginning() -> None:
    def taken_back(story: Story) -> list[str]:
        return strike(story, "start-coordinated", revert)

    def revert(story: Story, _pod: Stored) -> None:
        story.edit(security=OFF)

    with Story(managers(1), hot(2), agents=True, security=OFF).told() as story:
        await story.begin()
        pods = story.uids(PODS)
        met = taken_back(story)
        story.edit(security=ON)
        assert await story.until(lambda: met)
        await story.settle()
        assert {node.secured for node in story.nodes()} == {False}
        assert story.uids(PODS) == pods
