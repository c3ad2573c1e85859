"""Work that is repeated goes on whatever happens to it."""

import asyncio
from typing import Any

import pytest

from stateward.kube.timing.clock import SystemClock
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.runtime import periodic
from stateward.operator.runtime.periodic import Periodic
from stateward.simulation.timing.loop import run_virtual


class Broken:
    """A listener that can report nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def failed(self, name: str, failures: int, error: Exception) -> None:
        self.asked.append(f"{name} {error}")
        raise RuntimeError(failures)

    async def recovered(self, name: str) -> None:
        self.asked.append(name)
        raise RuntimeError(name)


class Told:
    """A listener that reports nothing."""

    async def failed(self, name: str, failures: int, error: Exception) -> None:
        pass

    async def recovered(self, name: str) -> None:
        pass


class Slow:
    """Work that takes ten seconds, and during which something happens once."""

    def __init__(self) -> None:
        listener: Any = Told()
        self.began: list[float] = []
        self.repeated = Periodic("comparison", self.work, VirtualClock(), listener)

    async def work(self) -> None:
        self.began.append(VirtualClock().monotonic())
        await VirtualClock().sleep(10.0)


async def begun(events: dict[float, str]) -> tuple[list[float], float]:
    """Return when the work began while these things happened, `hear` or `stop`, and when it ended."""
    slow, clock = Slow(), VirtualClock()
    task = asyncio.create_task(slow.repeated.run())
    for at, what in events.items():
        await clock.sleep(at - clock.monotonic())
        getattr(slow.repeated, what)()
    await task
    return slow.began, clock.monotonic()


def test_a_change_during_the_work_is_taken_up_right_after_it() -> None:
    assert run_virtual(begun({5.0: "hear", 15.0: "stop"})) == ([0.0, 12.0], 22.0)


@pytest.mark.parametrize("at", [5.0, 11.0, 30.0])
def test_a_stop_ends_the_work_at_once_whenever_it_comes(at: float) -> None:
    assert run_virtual(begun({at: "stop"})) == ([0.0], max(10.0, at))


async def test_a_failure_that_cannot_be_reported_does_not_end_the_work(monkeypatch: Any) -> None:
    for name, value in (("TOGETHER", 0.0), ("AGAIN", 0.0), ("TOLD", 2)):
        monkeypatch.setattr(periodic, name, value)
    runs, broken = 0, Broken()

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 5:
            repeated.stop()
        if runs < 4:
            raise ValueError(runs)

    listener: Any = broken
    repeated = Periodic("comparison", work, SystemClock(), listener)
    async with asyncio.timeout(60):
        await repeated.run()
    assert runs == 5
    assert broken.asked == ["comparison 2", "comparison 3", "comparison"]
