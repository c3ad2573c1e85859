"""Every kind of change takes the gentlest way, alone or with others, also when the operator dies on that way."""

import os

import pytest
from hypothesis import example, given, settings

from stateward.planning.model.observation import Effect
from stateward.simulation.timing.loop import run_virtual
from stateward.simulation.world.trace_text import clock
from tests.simulation.restarts.drawn_stories import KINDS, DrawnStory, Kind, drawn_stories, happened, picture
from tests.simulation.story import Story

pytestmark = pytest.mark.simulation

EXAMPLES = int(os.environ.get("STATEWARD_SIMULATION_EXAMPLES", "12"))
"""How many stories are drawn; a nightly run gives more."""


@pytest.mark.parametrize("agents", [True, False], ids=["agents", "no agents"])
@pytest.mark.parametrize("kind", KINDS, ids=[kind.words.format("pool") for kind in KINDS])
def test_each_kind_of_change_does_to_each_member_what_it_needs_and_no_more(kind: Kind, agents: bool) -> None:
    run_virtual(live(DrawnStory(1, 2, gateway=True, agents=agents, edits=((kind, "hot"),), dies_after=0)))


@settings(max_examples=EXAMPLES, database=None)
@given(drawn_stories())
@example(DrawnStory(3, 3, gateway=False, agents=True, edits=((KINDS[0], "hot"), (KINDS[3], "hot")), dies_after=9))
def test_several_changes_at_once_are_the_hardest_of_them_once(drawn: DrawnStory) -> None:
    run_virtual(live(drawn))


async def live(drawn: DrawnStory) -> None:
    """Live through a story; where it ends badly, tell it."""
    with Story(*drawn.pools(), agents=drawn.agents).told() as story:
        story.world.ground.story = []
        try:
            await follow(drawn, story)
        except AssertionError as error:
            told = "\n".join(f"{clock(at):>11}  {text}" for at, text in story.world.ground.story)
            raise AssertionError(f"{drawn!r}: {error}\n{told}") from error


async def follow(drawn: DrawnStory, story: Story) -> None:
    await story.begin(2)
    before, steps = picture(story), [0]

    def step(*_: str) -> None:
        steps[0] += 1
        if steps[0] == drawn.dies_after:
            story.process.kill()

    story.process.wrote = story.process.told = step
    story.edit(**drawn.after())
    await story.settle(quiet=300.0)
    for name, effect in happened(before, picture(story)):
        most = drawn.most(before.pools[name])
        assert effect == most, f"{name} needed {most.name.lower()} and got {effect.name.lower()}"
    once = story.disrupted()
    assert all(once.count(name) <= 1 for name in once), f"somebody was taken down twice: {once}"
    assert all(drawn.most(before.pools[name]) > Effect.NONE for name in once if name in before.pools), once
