"""Operators that die after some writes, for scenarios in virtual time."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from stateward.kube.timing.virtual_time import VirtualTimeLoop
from stateward.simulation.apiserver.network import Network
from stateward.simulation.opensearch.http import Wire
from tests.unit.operator.declared.world import World


def played(story: Coroutine[Any, Any, None]) -> None:
    """Run a scenario in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story)


def die_after(writes: int, network: Network, wire: Wire) -> None:
    """Have the process at a network and at a database die after so many writes to either."""
    left = [writes]

    def wrote(*_: object) -> None:
        left[0] -= 1
        network.dead = wire.dead = left[0] <= 0

    network.write_done = wrote
    wire.command_done = wrote


async def lives(world: World, deaths: int, seconds: float = 1200) -> None:
    """Have an operator at work that dies after some writes, and then its successor for some seconds."""
    if deaths:
        network = Network(world.context.stream("dying"), world.context.count)
        die_after(deaths, network, world.database.wire)
        async with world.operator(network=network):
            await asyncio.sleep(60)
        world.database.wire = world.wire(deaths)
    async with world.operator():
        await asyncio.sleep(seconds)
