"""Work that is repeated goes on whatever happens to it."""

import asyncio
from typing import Any

from stateward.kube.timing.clock import SystemClock
from stateward.operator.runtime import periodic
from stateward.operator.runtime.periodic import Periodic


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
