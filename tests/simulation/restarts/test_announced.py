"""Databases that are told which of their nodes go down: whatever ends the operator, nothing of it is left."""

import pytest

from tests.simulation.story import Story, hot, managers

pytestmark = pytest.mark.simulation

PUT, DELETE = "PUT /_nodes/", "DELETE /_nodes/"


def heard(story: Story) -> list[tuple[str, str]]:
    """Return the list that fills with the members of which the database is told, and how they go."""
    found: list[tuple[str, str]] = []

    def told(what: str) -> None:
        if what.startswith(PUT):
            kind, why = story.database.going[what.split("/")[2]]
            found.append((why.removeprefix("stateward: "), kind))

    story.process.told = told
    return found


async def test_it_is_told_of_each_member_that_restarts_and_of_each_that_leaves() -> None:
    with Story(managers(1), hot(3)).told() as story:
        story.world.databases.announced = True
        await story.begin()
        going = heard(story)
        story.edit(version="2.19.5")
        await story.settle()
        # The only manager holds no copies: nothing would be rebuilt, and so the allocation is not limited for it.
        assert sorted(going) == [(f"logs-hot-{number}", "restart") for number in range(3)]
        going.clear()
        story.pools(managers(1), hot(2))
        await story.settle()
        assert going == [("logs-hot-2", "remove")]


@pytest.mark.parametrize("call", [PUT, DELETE, "PUT /_cluster/settings"])
@pytest.mark.parametrize("change", ["restart", "leave"])
async def test_a_crash_after_any_word_leaves_no_record(change: str, call: str) -> None:
    """The operator dies right after it was told, and the change is taken back meanwhile."""
    with Story(managers(1), hot(3)).told() as story:
        story.world.databases.announced = True
        await story.begin()

        def told(what: str) -> None:
            if what.startswith(call):
                story.process.told = lambda _: None
                story.process.kill()
                story.edit(config={}, pools=[managers(1), hot(3)])

        story.process.told = told
        if change == "restart":
            story.edit(config={"indices.first": 1})
        else:
            story.pools(managers(1), hot(2))
        assert await story.until(lambda: not story.process.running)
        await story.settle()
        assert story.database.going == {}
