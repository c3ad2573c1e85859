"""Virtual time jumps when all tasks wait, and reports a deadlock."""

import asyncio
import threading

import pytest

from stateward.kube.timing import virtual_time
from stateward.kube.timing.virtual_time import Deadlock, VirtualClock, VirtualTimeLoop


async def test_a_day_passes_at_once_on_both_clocks() -> None:
    clock = VirtualClock()
    before = clock.now()
    await clock.sleep(86_400)
    assert clock.monotonic() == pytest.approx(86_400)
    assert (clock.now() - before).total_seconds() == pytest.approx(86_400)


async def test_tasks_wake_in_the_order_of_their_times() -> None:
    woken: list[int] = []

    async def sleeper(seconds: int) -> None:
        await VirtualClock().sleep(seconds)
        woken.append(seconds)

    await asyncio.gather(*(sleeper(seconds) for seconds in (30, 10, 20)))
    assert woken == [10, 20, 30]


async def test_a_timeout_ends_a_block() -> None:
    clock = VirtualClock()
    with pytest.raises(TimeoutError):
        async with clock.timeout(5):
            await clock.sleep(50)
    assert clock.monotonic() == pytest.approx(5)


async def test_a_thread_is_waited_for_in_real_time() -> None:
    assert await asyncio.to_thread(lambda: threading.current_thread().name) != "MainThread"


def test_waiting_for_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "_DEADLOCK_SECONDS", 0.01)
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner, pytest.raises(Deadlock):
        runner.run(asyncio.Event().wait())
