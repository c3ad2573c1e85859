"""The page of an API server in memory, over real HTTP on the loopback address."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest

from stateward.cli.dashboard.host import opened
from stateward.cli.page.server import open_page
from tests.support.memory_server import MemoryServer, many


@dataclass
class Open:
    """An open page: the server behind it, its URL, and a client."""

    server: MemoryServer
    url: str
    http: aiohttp.ClientSession

    @property
    def origin(self) -> str:
        return self.url.rpartition("/")[0].rpartition("/")[0]

    async def post(self, path: str, body: object, **headers: str) -> tuple[int, object]:
        """Send a request as the page does; return status and answer."""
        sent = {"Origin": self.origin, **headers}
        async with self.http.post(self.url + path, json=body, headers=sent) as answer:
            return answer.status, await answer.json(content_type=None)

    async def events(self, number: int, ref: str = "") -> list[tuple[str, str]]:
        """Return the first events of the stream, as names with their data."""
        found: list[tuple[str, str]] = []
        async with self.http.get(f"{self.url}events", params={"cluster": ref} if ref else {}) as answer:
            name = ""
            async for line in answer.content:
                text = line.decode().rstrip("\n")
                name = text.removeprefix("event: ") if text.startswith("event: ") else name
                if text.startswith("data: "):
                    found.append((name, text.removeprefix("data: ")))
                if len(found) == number:
                    break
        return found


@pytest.fixture(params=[False], ids=[""])
async def page(request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    """Give the page of ten clusters; parametrize it with True for a read-only one."""
    server = MemoryServer()
    for cluster in many(10):
        server.add(cluster)
    async with (
        opened(server.session(), "dashboard", read_only=request.param) as host,
        open_page(host) as url,
        aiohttp.ClientSession() as http,
    ):
        while len(host.clusters()) < 10:
            await host.changed()
        yield Open(server, url, http)
