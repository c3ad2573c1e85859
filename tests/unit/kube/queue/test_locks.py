"""Locks by name exclude each other, and leave nothing behind: tenants choose the names, as those of repositories."""

import asyncio
import gc

from stateward.kube.queue.locks import Locks


async def test_a_name_that_is_not_in_use_takes_no_memory() -> None:
    """The disaster: a tenant creates schedules of other repositories all day, and the operator has no memory left."""
    locks = Locks[str]()
    for number in range(1_000):
        async with locks[f"prod/logs/{number}"]:
            assert len(locks) < 3
    gc.collect()
    assert len(locks) == 0


async def test_two_with_one_name_work_one_after_the_other() -> None:
    locks, busy = Locks[str](), 0

    async def work() -> None:
        nonlocal busy
        async with locks["prod/logs/backups"]:
            busy += 1
            assert busy == 1
            await asyncio.sleep(0)
            busy -= 1

    await asyncio.gather(*(work() for _ in range(5)))
