"""The API server in memory keeps the same contract as the real one, so what is found in a world is true outside."""

import asyncio
import random

import pytest

from stateward.kube.objects.resources import NAMESPACES
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.deletion import GarbageCollector
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.cluster.budgets import guard
from stateward.simulation.timing.loop import WorldClock
from tests.contract.apply_contract import ApplyContract
from tests.contract.deleting_contract import DeletingContract
from tests.contract.reading_contract import ReadingContract
from tests.contract.watch_contract import WatchContract
from tests.contract.world import World
from tests.contract.writing_contract import WritingContract

pytestmark = pytest.mark.simulation


@pytest.fixture
async def world() -> World:
    loop = asyncio.get_running_loop()
    clock = WorldClock(loop)
    store = Store(clock.monotonic, clock.now)
    GarbageCollector(store, lambda seconds, do: loop.call_later(seconds, do) and None)
    server = Server(store)
    guard(server)
    network = Network(random.Random(0), lambda _: None)  # noqa: S311
    api = WorldApi(server, ChangeSignal(store), network)
    await api.create(NAMESPACES, {"metadata": {"name": "contract"}})
    return World(api, "contract", clock)


class TestReading(ReadingContract):
    """See the contract."""


class TestWriting(WritingContract):
    """See the contract."""


class TestDeleting(DeletingContract):
    """See the contract."""


class TestApply(ApplyContract):
    """See the contract."""


class TestWatch(WatchContract):
    """See the contract."""
