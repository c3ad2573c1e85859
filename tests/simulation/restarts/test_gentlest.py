"""Each kind of change has the least disruptive effect, alone or combined, even if the operator is killed meanwhile."""

import os

import pytest
from hypothesis import example, given, settings

from stateward.planning.model.observation import Effect
from stateward.simulation.timing.loop import run_virtual
from stateward.simulation.world.trace_text import clock
from tests.simulation.restarts.drawn_scenarios import KINDS, DrawnScenario, Kind, drawn_scenarios, happened, picture
from tests.simulation.scenario import Scenario

pytestmark = pytest.mark.simulation

EXAMPLES = int(os.environ.get("STATEWARD_SIMULATION_EXAMPLES", "12"))
"""The number of drawn scenarios; a nightly run has more."""


@pytest.mark.parametrize("agents", [True, False], ids=["agents", "no agents"])
@pytest.mark.parametrize("kind", KINDS, ids=[kind.words.format("pool") for kind in KINDS])
def test_each_kind_of_change_does_to_each_member_what_it_needs_and_no_more(kind: Kind, agents: bool) -> None:
    run_virtual(live(DrawnScenario(1, 2, gateway=True, agents=agents, edits=((kind, "hot"),), dies_after=0)))


@settings(max_examples=EXAMPLES, database=None)
@given(drawn_scenarios())
@example(DrawnScenario(3, 3, gateway=False, agents=True, edits=((KINDS[0], "hot"), (KINDS[3], "hot")), dies_after=9))
def test_several_changes_at_once_are_the_hardest_of_them_once(drawn: DrawnScenario) -> None:
    run_virtual(live(drawn))


async def live(drawn: DrawnScenario) -> None:
    """Run a scenario; print its trace if it fails."""
    with Scenario(*drawn.pools(), agents=drawn.agents).logged() as scenario:
        scenario.world.context.trace_lines = []
        try:
            await follow(drawn, scenario)
        except AssertionError as error:
            told = "\n".join(f"{clock(at):>11}  {text}" for at, text in scenario.world.context.trace_lines)
            raise AssertionError(f"{drawn!r}: {error}\n{told}") from error


async def follow(drawn: DrawnScenario, scenario: Scenario) -> None:
    await scenario.begin(2)
    before, steps = picture(scenario), [0]

    def step(*_: str) -> None:
        steps[0] += 1
        if steps[0] == drawn.dies_after:
            scenario.process.kill()

    scenario.process.write_done = scenario.process.command_done = step
    scenario.edit(**drawn.after())
    await scenario.settle(quiet=300.0)
    for name, effect in happened(before, picture(scenario)):
        most = drawn.most(before.pools[name])
        assert effect == most, f"{name} needed {most.name.lower()} and got {effect.name.lower()}"
    once = scenario.disrupted()
    assert all(once.count(name) <= 1 for name in once), f"a member was stopped twice: {once}"
    assert all(drawn.most(before.pools[name]) > Effect.NONE for name in once if name in before.pools), once
