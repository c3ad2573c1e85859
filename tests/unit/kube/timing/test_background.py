"""Work in the background ends with its block, and its errors are not lost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest

from stateward.kube.timing.background import in_background


class Work:
    """Work without an end, which takes a while to stop."""

    def __init__(self) -> None:
        self.state = "new"

    async def run(self) -> None:
        self.state = "running"
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.state = "ended"


@pytest.fixture
async def reported() -> AsyncGenerator[list[Any]]:
    """Return the errors that are reported to the event loop."""
    loop, found = asyncio.get_running_loop(), list[Any]()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: found.append(context.get("exception")))
    yield found
    loop.set_exception_handler(before)


async def failing(error: Exception) -> None:
    raise error


async def test_all_work_runs_for_the_block_and_has_ended_after_it(reported: list[Any]) -> None:
    works = Work(), Work()
    async with in_background(*(work.run() for work in works)) as tasks:
        await asyncio.sleep(0)
        assert [work.state for work in works] == ["running"] * 2
        assert not any(task.done() for task in tasks)
    assert [work.state for work in works] == ["ended"] * 2
    assert reported == []


async def test_work_ends_also_when_the_block_fails_or_is_cancelled() -> None:
    async def block(work: Work, error: BaseException) -> None:
        async with in_background(work.run()):
            await asyncio.sleep(0)
            raise error

    for error in (ValueError("x"), asyncio.CancelledError()):
        work = Work()
        with suppress(type(error)):
            await block(work, error)
        assert work.state == "ended"


async def test_the_error_of_work_is_reported_at_once_and_the_block_goes_on(reported: list[Any]) -> None:
    error, work = ValueError("a mistake"), Work()
    async with in_background(failing(error), work.run()):
        for _ in range(3):
            await asyncio.sleep(0)
        assert reported == [error]
        assert work.state == "running"
    assert reported == [error]


async def test_a_block_without_work_is_a_plain_block() -> None:
    async with in_background() as tasks:
        assert tasks == ()
