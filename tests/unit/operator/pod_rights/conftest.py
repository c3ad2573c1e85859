"""An API server in memory for the tests of pod rights."""

import asyncio
import random

import pytest

from stateward.kube.objects import resources as kinds
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock


@pytest.fixture
async def api() -> WorldApi:
    clock = WorldClock(asyncio.get_running_loop())
    store = Store(clock.monotonic, clock.now)
    found = WorldApi(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
    await found.create(kinds.NAMESPACES, {"metadata": {"name": "data"}})
    return found
