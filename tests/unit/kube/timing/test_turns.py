"""Long computations, one at a time: between two of them the event loop does all else."""

import asyncio

import pytest

from stateward.kube.timing.turns import Turns


async def test_between_two_computations_all_else_has_a_turn() -> None:
    turns, passed, begun = Turns(), 0, list[int]()

    async def all_else() -> None:
        nonlocal passed
        while len(begun) < 10:
            passed += 1
            await asyncio.sleep(0)

    async def computes() -> None:
        async with turns.one():
            begun.append(passed)

    await asyncio.gather(*(computes() for _ in range(5)), all_else(), *(computes() for _ in range(5)))
    assert len(set(begun)) == 10


async def test_one_that_fails_or_is_cancelled_keeps_no_turn() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="no"):
        async with turns.one():
            raise ValueError("no")
    async with turns.one():
        waiting = asyncio.create_task(turns.one().__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
    async with asyncio.timeout(5), turns.one():
        pass
