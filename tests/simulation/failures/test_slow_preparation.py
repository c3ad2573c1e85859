"""What happens while the database prepares for a restart counts: a plan is not carried out that has become wrong."""

import pytest

from tests.simulation.scenario import Scenario, hot, managers

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize("agents", [False, True])
async def test_a_member_is_not_stopped_when_another_one_has_failed_during_the_flush(*, agents: bool) -> None:
    with Scenario(managers(1), hot(2), agents=agents).logged() as scenario:
        await scenario.begin()
        first, second = sorted((node for node in scenario.nodes() if node.data), key=lambda node: node.name)

        def told(what: str) -> None:
            if what == "PUT /_cluster/settings":
                scenario.process.command_done = lambda _: None
                going = next(n for n in (first, second) if n.name == "logs-hot-1")
                other = first if going is second else second
                scenario.world.databases.pause(other, on=True)
                scenario.world.context.later(150.0, lambda: scenario.world.databases.pause(other, on=False))

        scenario.process.command_done = told
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert scenario.red == 0
