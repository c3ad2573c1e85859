"""The key of digests outlives its Secret as long as an operator runs."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.restarts.digestkey import LOOK_SECONDS, digest_key, keep_key
from stateward.packages.restarts.digests import RootKey
from tests.unit.operator.installations.test_lost_key import WHERE, lose
from tests.unit.operator.installations.world import World


@pytest.fixture
async def world() -> World:
    return World()


@asynccontextmanager
async def kept(world: World) -> AsyncGenerator[RootKey]:
    key = await digest_key(world.api, WHERE.namespace)
    task = asyncio.create_task(keep_key(world.api, WHERE.namespace, key, VirtualClock()))
    try:
        yield key
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_key_whose_secret_is_deleted_is_written_again_as_it_was(world: World) -> None:
    async with kept(world) as key:
        lose(world)
        await world.until(lambda: world.store.get("/secrets", WHERE))
        assert await digest_key(world.api, WHERE.namespace) == key


async def test_a_key_that_a_user_has_put_there_is_left_and_read_at_the_next_start(world: World) -> None:
    async with kept(world) as key:
        stored = world.store.get("/secrets", WHERE)
        assert stored is not None
        other = {**stored.doc, "data": {"key": "b" * 44}}
        world.server.update("/secrets", WHERE, other)
        await asyncio.sleep(3 * LOOK_SECONDS)
        assert await digest_key(world.api, WHERE.namespace) != key


async def test_a_server_that_does_not_answer_for_a_while_does_not_end_it(world: World) -> None:
    async with kept(world) as key:
        world.network.rates.error = 1.0
        await asyncio.sleep(2 * LOOK_SECONDS)
        world.network.rates.error = 0.0
        lose(world)
        await world.until(lambda: world.store.get("/secrets", WHERE), 2 * LOOK_SECONDS)
        assert await digest_key(world.api, WHERE.namespace) == key
