"""Runs this folder's asynchronous tests in the world's own loop."""

import asyncio
from collections.abc import Callable, Mapping

from stateward.simulation.timing.loop import WorldLoop


def pytest_asyncio_loop_factories(
    config: object, item: object
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"world": WorldLoop}
