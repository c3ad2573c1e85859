"""`dashboard`: the address, what is shown, and the rights that it needs."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from click.testing import CliRunner

from stateward.cli.dashboard.dashboard import may_list_all, show
from stateward.cli.dashboard.host import opened
from stateward.cli.main import cli
from stateward.cli.shared.session import Session
from tests.support.memory_server import MemoryServer, many
from tests.unit.cli.fake_api import FakeApi


@asynccontextmanager
async def shown(server: MemoryServer, capsys: pytest.CaptureFixture[str], namespace: str = "") -> AsyncGenerator[str]:
    """Give what the command prints, while it runs."""
    task = asyncio.create_task(show(server.session(namespace), 0, False, True))
    text = ""
    async with asyncio.timeout(10):
        while "Ctrl-C" not in text:
            await asyncio.sleep(0.01)
            text += capsys.readouterr().out
    yield text
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_it_prints_an_address_of_this_machine_with_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    async with shown(MemoryServer(), capsys) as text, aiohttp.ClientSession() as http:
        url = re.findall(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", text)[0]
        assert "all namespaces, read-only" in text
        async with http.get(url) as answer:
            assert answer.status == 200


async def test_each_start_has_another_token(capsys: pytest.CaptureFixture[str]) -> None:
    server = MemoryServer()
    async with shown(server, capsys) as first, shown(server, capsys) as second:
        assert first.rpartition("/")[0].rpartition("/")[2] != second.rpartition("/")[0].rpartition("/")[2]


async def test_it_follows_the_clusters_of_one_namespace() -> None:
    server = MemoryServer()
    for cluster in many(6):
        server.add(cluster)
    async with opened(server.session("data"), "dashboard", read_only=True) as host:
        async with asyncio.timeout(10):
            while len(host.clusters()) < 4:
                await host.changed()
        assert {cluster.metadata.namespace for cluster in host.clusters()} == {"data"}


async def test_without_the_right_to_list_all_namespaces_it_shows_its_own() -> None:
    api = FakeApi()
    assert await may_list_all(Session(api, "default"))
    api.denied.add("osclusters")
    assert not await may_list_all(Session(api, "default"))


async def test_until_the_server_has_answered_the_page_says_so() -> None:
    async with opened(Session(FakeApi(), ""), "dashboard", read_only=True) as host:
        assert host.trouble == "the clusters are being read"
        assert host.clusters() == []


def test_it_needs_no_argument() -> None:
    result = CliRunner().invoke(cli, ["dashboard", "--help"])
    assert result.exit_code == 0
    assert "--read-only" in result.output
