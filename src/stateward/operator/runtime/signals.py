"""Runs a process until a signal stops it: SIGTERM from the kubelet, or SIGINT from a terminal."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

_log = structlog.get_logger(__name__)


async def until_signalled(run: Callable[[], Coroutine[Any, Any, None]], stop: Callable[[], Awaitable[None]]) -> None:
    """Run until the work ends by itself, or a signal stops it: then `stop` finishes what is in progress."""
    signalled = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled.set)
    running = asyncio.create_task(run())
    stopping = asyncio.create_task(signalled.wait())
    await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not running.done():
        _log.info("stopping")
        await stop()
        running.cancel()
    try:
        await running
    except asyncio.CancelledError:
        _log.info("stopped")
