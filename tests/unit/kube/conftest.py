"""Runs this folder's tests in virtual time, but for the modules that say `REAL_TIME`."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from stateward.kube.timing.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(
    config: object, item: pytest.Function
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    if getattr(item.module, "REAL_TIME", False):
        return {"real": asyncio.new_event_loop}
    return {"virtual": VirtualTimeLoop}
