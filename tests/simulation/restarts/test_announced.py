"""Announced node shutdowns: none is left behind, even if the operator is killed at any step."""

import pytest

from tests.simulation.scenario import Scenario, hot, managers

pytestmark = pytest.mark.simulation

PUT, DELETE = "PUT /_nodes/", "DELETE /_nodes/"


def heard(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the list that records the announced members and the type of their shutdown."""
    found: list[tuple[str, str]] = []

    def told(what: str) -> None:
        if what.startswith(PUT):
            kind, why = scenario.database.shutdowns[what.split("/")[2]]
            found.append((why.removeprefix("stateward: "), kind))

    scenario.process.command_done = told
    return found


async def test_it_is_notified_of_each_member_that_restarts_and_of_each_that_leaves() -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        scenario.world.databases.announced = True
        await scenario.begin()
        going = heard(scenario)
        scenario.edit(version="2.19.5")
        await scenario.settle()
        # The only manager holds no copies: nothing would be rebuilt, and so the allocation is not limited for it.
        assert sorted(going) == [(f"logs-hot-{number}", "restart") for number in range(3)]
        going.clear()
        scenario.pools(managers(1), hot(2))
        await scenario.settle()
        assert going == [("logs-hot-2", "remove")]


@pytest.mark.parametrize("call", [PUT, DELETE, "PUT /_cluster/settings"])
@pytest.mark.parametrize("change", ["restart", "leave"])
async def test_a_crash_after_any_word_leaves_no_record(change: str, call: str) -> None:
    """The operator is killed right after the announcement, and the user reverts the change meanwhile."""
    with Scenario(managers(1), hot(3)).logged() as scenario:
        scenario.world.databases.announced = True
        await scenario.begin()

        def told(what: str) -> None:
            if what.startswith(call):
                scenario.process.command_done = lambda _: None
                scenario.process.kill()
                scenario.edit(config={}, pools=[managers(1), hot(3)])

        scenario.process.command_done = told
        if change == "restart":
            scenario.edit(config={"indices.first": 1})
        else:
            scenario.pools(managers(1), hot(2))
        assert await scenario.until(lambda: not scenario.process.running)
        await scenario.settle()
        assert scenario.database.shutdowns == {}
