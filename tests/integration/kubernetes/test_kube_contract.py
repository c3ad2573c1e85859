"""`HttpApi` keeps the contract of `Api`, on a real API server."""

import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from stateward.kube.access.config import connect
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import NAMESPACES
from stateward.kube.timing.checked_clock import TOLERANCE
from stateward.kube.timing.clock import SystemClock
from tests.contract.apply_contract import ApplyContract
from tests.contract.deleting_contract import DeletingContract
from tests.contract.reading_contract import ReadingContract
from tests.contract.watch_contract import WatchContract
from tests.contract.world import World
from tests.contract.writing_contract import WritingContract

pytestmark = pytest.mark.integration


@pytest.fixture
async def world(control_plane: Path) -> AsyncGenerator[World]:
    async with HttpApi(connect(kubeconfig=str(control_plane))) as api:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "contract-"}}
        namespace = await api.create(NAMESPACES, body)
        name = namespace.metadata.name
        yield World(api, name, SystemClock())
        await api.delete(NAMESPACES, Key("", name), DeleteOptions(Preconditions(namespace.metadata.uid)))


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


async def test_the_server_tells_its_time(control_plane: Path) -> None:
    dates: list[float] = []
    async with HttpApi(connect(kubeconfig=str(control_plane)), told=dates.append) as api:
        await api.list(NAMESPACES, Selection())
    assert dates == [pytest.approx(time.time(), abs=TOLERANCE)]
