"""Operators that die after some writes, for scenarios in virtual time."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from stateward.kube.timing.virtual_time import VirtualTimeLoop
from stateward.simulation.apiserver.network import Network
from tests.unit.operator.declared.world import World


def played(story: Coroutine[Any, Any, None]) -> None:
    """Run a scenario in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story)


async def lives(world: World, deaths: int, seconds: float = 1200) -> None:
    """Have an operator at work that dies after some writes, and then its successor for some seconds."""
    if deaths:
        network, left = Network(world.context.stream("dying"), world.context.count), [deaths]

        def wrote(*_: object) -> None:
            left[0] -= 1
            network.dead = world.database.wire.dead = left[0] <= 0

        network.write_done = wrote
        world.database.wire.command_done = wrote
        async with world.operator(network=network):
            await asyncio.sleep(60)
        world.database.wire = world.wire(deaths)
    async with world.operator():
        await asyncio.sleep(seconds)
