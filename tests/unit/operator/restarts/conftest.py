"""Runs this folder's tests in virtual time."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from stateward.kube.timing.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(
    config: object, item: pytest.Function
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"virtual": VirtualTimeLoop}
