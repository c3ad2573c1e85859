"""What a pretended world does until it is ended: it follows what Kubernetes has."""

import asyncio
import signal
from collections.abc import Coroutine, Iterable
from typing import Any

from bench.clusters.world.doors import Doors
from stateward.kube.cache.store import Store


async def follow(endless: Iterable[Coroutine[Any, Any, Any]], stores: Iterable[Store[Any]], opened: Doors) -> None:
    """Run what is `endless` until a signal asks to stop; say `ready` once the stores are filled and the doors open."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    async def ready() -> None:
        for store in stores:
            await store.wait_synced()
        await opened.opened()
        print("ready", flush=True)
        await stop.wait()

    tasks = [asyncio.create_task(work) for work in (*endless, ready())]
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
