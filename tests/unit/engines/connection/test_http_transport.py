"""Requests over real sockets: whole answers or none, within bounds of time and size."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from stateward.engines import opensearch
from stateward.engines.connection import http
from stateward.engines.connection.base import Call, TooLargeError, UnreachableError
from stateward.engines.connection.http import Bounds, HttpTransport, open_session
from stateward.planning.model.observation import Database, Unknown
from tests.unit.engines.replay import STATE, TARGET, recorded

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """A database with scripted responses."""

    def __init__(self) -> None:
        self.handle: Handler = self.replay
        self.bodies: dict[str, Any] = recorded("settled")
        self.url = ""

    async def replay(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self.bodies[f"{request.method} {request.path}"])

    async def dispatch(self, request: web.Request) -> web.StreamResponse:
        return await self.handle(request)


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.dispatch)
    async with TestServer(app) as running:
        made.url = str(running.make_url("")).rstrip("/")
        yield made


@pytest.fixture
async def session() -> AsyncGenerator[aiohttp.ClientSession]:
    async with open_session() as made:
        yield made


async def observed(server: Server, transport: HttpTransport) -> Database | Unknown:
    target = type(TARGET)(endpoints=(server.url,), name=TARGET.name)
    return await opensearch.driver(transport).observe(target)


async def test_a_complete_cluster_is_read(server: Server, session: aiohttp.ClientSession) -> None:
    assert isinstance(await observed(server, HttpTransport(session)), Database)


@pytest.mark.parametrize(("kept", "connections"), [(http._KEPT_SECONDS, 1), (0.0, 2)])
async def test_a_connection_is_used_again_as_long_as_it_is_kept(
    server: Server, monkeypatch: pytest.MonkeyPatch, kept: float, connections: int
) -> None:
    seen = set[Any]()

    async def note(request: web.Request) -> web.Response:
        assert request.transport is not None
        seen.add(request.transport.get_extra_info("peername"))
        return web.Response()

    server.handle = note
    monkeypatch.setattr(http, "_KEPT_SECONDS", kept)
    async with open_session() as made:
        for _ in range(2):
            await HttpTransport(made).send(Call(server.url, "GET", "/"))
    assert len(seen) == connections


async def test_a_body_is_sent_as_json(server: Server, session: aiohttp.ClientSession) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.json_response([request.method, request.query_string, request.content_type, await request.json()])

    server.handle = echo
    answer = await HttpTransport(session).send(Call(server.url, "PUT", "/x", params={"a": "1"}, body={"k": None}))
    assert (answer.status, answer.body) == (200, b'["PUT", "a=1", "application/json", {"k": null}]')


async def test_a_status_is_an_answer(server: Server, session: aiohttp.ClientSession) -> None:
    async def busy(_request: web.Request) -> web.Response:
        return web.Response(status=503, text="busy")

    server.handle = busy
    answer = await HttpTransport(session).send(Call(server.url, "GET", "/"))
    assert (answer.status, answer.body) == (503, b"busy")


async def test_a_redirect_is_not_followed(server: Server, session: aiohttp.ClientSession) -> None:
    async def elsewhere(_request: web.Request) -> web.Response:
        raise web.HTTPFound("http://127.0.0.1:1/")

    server.handle = elsewhere
    assert (await HttpTransport(session).send(Call(server.url, "GET", "/"))).status == 302


async def test_no_answer_in_time_is_an_error(server: Server, session: aiohttp.ClientSession) -> None:
    never = asyncio.Event()

    async def hang(_request: web.Request) -> web.Response:
        await never.wait()
        return web.Response()

    server.handle = hang
    try:
        with pytest.raises(UnreachableError, match="did not answer in time"):
            await HttpTransport(session, Bounds(total=0.05)).send(Call(server.url, "GET", "/"))
        with pytest.raises(UnreachableError, match="did not answer in time"):
            await HttpTransport(session).send(Call(server.url, "GET", "/", patience=0.05))
        assert isinstance(await observed(server, HttpTransport(session, Bounds(total=0.05))), Unknown)
    finally:
        never.set()


async def test_an_answer_that_breaks_off_is_an_error(server: Server, session: aiohttp.ClientSession) -> None:
    async def break_off(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100000"})
        await response.prepare(request)
        await response.write(b'{"cluster_name":')
        assert request.transport is not None
        request.transport.abort()
        return response

    server.handle = break_off
    with pytest.raises(UnreachableError, match="cannot be reached"):
        await HttpTransport(session).send(Call(server.url, "GET", "/"))


async def test_more_than_can_be_read_is_an_error(server: Server, session: aiohttp.ClientSession) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with_room = b" " * (1 << 20)
        for _ in range(64):
            await response.write(with_room)
        return response

    server.handle = endless
    with pytest.raises(TooLargeError, match=r"/ answers with 4\.\d MiB or more, and the limit is 4\.0 MiB"):
        await HttpTransport(session, Bounds(largest=4 << 20)).send(Call(server.url, "GET", "/"))


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "http://[::1]:1", "http://", "nonsense", "http://h:99999"])
async def test_an_address_without_a_listener_is_an_error(endpoint: str, session: aiohttp.ClientSession) -> None:
    with pytest.raises(UnreachableError):
        await HttpTransport(session).send(Call(endpoint, "GET", "/"))


async def test_garbage_over_the_wire_is_unknown(server: Server, session: aiohttp.ClientSession) -> None:
    async def garbage(request: web.Request) -> web.StreamResponse:
        if f"GET {request.path}" == STATE:
            return web.Response(body=b'{"cluster_name": "probe", "cluster_uuid"')
        return await server.replay(request)

    server.handle = garbage
    found = await observed(server, HttpTransport(session))
    assert isinstance(found, Unknown)
    assert "gives an answer that cannot be read" in found.why
