"""A client of several peers does not wait for a silent one once a majority has answered."""

import asyncio

from sandbox.foundationdb.wire import Message, SilentError, most
from stateward.simulation.timing.loop import run_virtual


async def after(seconds: float, name: str) -> Message:
    await asyncio.sleep(seconds)
    return {"name": name}


async def refused() -> Message:
    raise SilentError("no peer is there")


def asked(*questions: tuple[float, str]) -> tuple[list[str], float]:
    """Return who answered, and how long that took."""

    async def go() -> tuple[list[str], float]:
        answers = await most([after(*question) if question[1] else refused() for question in questions])
        return [answer["name"] if answer else "" for answer in answers], asyncio.get_running_loop().time()

    return run_virtual(go())


def test_a_silent_one_is_not_waited_for_when_most_have_answered() -> None:
    names, took = asked((0.0, "a"), (100.0, "b"), (0.1, "c"))
    assert names == ["a", "", "c"]
    assert took < 0.5


def test_a_late_one_still_counts_for_a_moment() -> None:
    assert asked((0.0, "a"), (0.1, "b"), (0.2, "c"))[0] == ["a", "b", "c"]


def test_without_most_it_waits_and_gives_up() -> None:
    names, took = asked((0.0, "a"), (100.0, "b"), (100.0, "c"))
    assert names == ["a", "", ""]
    assert took < 3.0


def test_refusals_are_no_answers() -> None:
    assert asked((0.0, "a"), (0.0, ""), (0.5, "c"))[0] == ["a", "", "c"]
