"""Clients that are slow, silent or too many, of the operator's own servers: over real sockets, with short limits."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from stateward.operator.runtime.health import health_routes
from stateward.operator.runtime.listener import Limits, serve
from stateward.operator.runtime.options import OperatorOptions
from tests.unit.agent.authority import Authority

SHORT = Limits(connections=4, seconds_request=0.3, seconds_idle=0.3, body=1000)
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


class Desk:
    """A server whose answers can be held back."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.held = asyncio.Semaphore(0)
        self.routes = [
            *health_routes(lambda: ()),
            web.post("/echo", self.echo),
            web.get("/hold", self.hold),
            web.get("/large", self.large),
        ]

    async def echo(self, request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    async def hold(self, _: web.Request) -> web.Response:
        self.held.release()
        await self.release.wait()
        return web.Response(text="held")

    async def large(self, _: web.Request) -> web.Response:
        return web.Response(body=b"x" * (32 << 20))


@asynccontextmanager
async def clients(port: int, number: int, said: bytes = b"") -> AsyncGenerator[list[Connection]]:
    """Open connections and say the same on each; a refusal counts as one that was cut."""
    found: list[Connection] = []
    try:
        for _ in range(number):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            found.append((reader, writer))
            with contextlib.suppress(OSError):
                writer.write(said)
                await writer.drain()
        yield found
    finally:
        for _, writer in found:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def ended(connection: Connection, seconds: float = 5.0) -> bytes:
    """Return what came until the other side ended the connection; raises TimeoutError when it does not."""
    async with asyncio.timeout(seconds):
        found = b""
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while more := await connection[0].read(65536):
                found += more
        return found


async def open_now(connections: list[Connection]) -> int:
    found = 0
    for each in connections:
        try:
            await ended(each, 0.01)
        except TimeoutError:
            found += 1
    return found


async def answered(port: int, path: str = "/healthz") -> int:
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status


async def test_three_hundred_silent_clients_keep_no_more_than_the_places_and_never_the_kubelet_out() -> None:
    async with serve("127.0.0.1", 0, health_routes(lambda: ())) as port, clients(port, 300) as silent:
        assert await answered(port) == 200
        assert await open_now(silent) <= Limits().connections


@pytest.mark.parametrize("said", [b"", b"GET /heal", b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhi"])
async def test_a_client_that_does_not_finish_its_request_is_cut(said: bytes) -> None:
    async with serve("127.0.0.1", 0, Desk().routes, limits=SHORT) as port, clients(port, 1, said) as (slow,):
        assert b" 200 " not in await ended(slow)


async def test_a_client_that_says_its_header_byte_by_byte_is_cut() -> None:
    async with serve("127.0.0.1", 0, Desk().routes, limits=SHORT) as port, clients(port, 1) as (slow,):
        with contextlib.suppress(OSError):
            for byte in GET * 4:
                slow[1].write(bytes([byte]))
                await slow[1].drain()
                if slow[0].at_eof():
                    break
                await asyncio.sleep(0.02)
        assert b" 200 " not in await ended(slow)


async def test_a_client_that_does_not_read_its_answer_is_cut() -> None:
    async with serve("127.0.0.1", 0, Desk().routes, limits=SHORT) as port, clients(port, 1) as (slow,):
        slow[1].transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
        slow[1].write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(1)
        slow[1].transport.resume_reading()  # pyright: ignore[reportAttributeAccessIssue]
        assert len(await ended(slow)) < 32 << 20


async def test_a_connection_that_was_answered_serves_again_and_is_cut_after_a_while() -> None:
    async with serve("127.0.0.1", 0, Desk().routes, limits=SHORT) as port, clients(port, 1) as (kept,):
        for _ in range(3):
            kept[1].write(GET)
            assert (await kept[0].readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
            await asyncio.sleep(0.1)
        assert await ended(kept) == b""


async def test_connections_beyond_the_limit_are_closed_while_all_are_in_use_and_later_ones_are_served() -> None:
    desk = Desk()
    async with serve("127.0.0.1", 0, desk.routes, limits=SHORT) as port:
        async with clients(port, 4, b"GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as busy:
            for _ in busy:
                await asyncio.wait_for(desk.held.acquire(), 5)
            async with clients(port, 1, GET) as (more,):
                assert await ended(more) == b""
            await asyncio.sleep(0.5)
            desk.release.set()
            assert [b"held" in await ended(each) for each in busy] == [True] * 4
        assert await answered(port) == 200


async def test_requests_whose_clients_are_gone_keep_their_places_until_they_are_over() -> None:
    desk = Desk()
    async with serve("127.0.0.1", 0, desk.routes, limits=SHORT) as port:
        async with clients(port, 4, b"GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"):
            for _ in range(4):
                await asyncio.wait_for(desk.held.acquire(), 5)
        async with clients(port, 1, GET) as (more,):
            assert await ended(more) == b""
        desk.release.set()
        async with asyncio.timeout(5):
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    assert await answered(port) == 200
                    return
                await asyncio.sleep(0.02)


async def test_a_body_that_is_too_large_is_refused() -> None:
    async with serve("127.0.0.1", 0, Desk().routes, limits=SHORT) as port, aiohttp.ClientSession() as session:
        for size, status in ((1000, 200), (1001, 413)):
            async with session.post(f"http://127.0.0.1:{port}/echo", data=b"x" * size) as answer:
                assert answer.status == status


async def test_handshakes_that_do_not_end_hold_their_places_for_a_short_time_only(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.issue(tmp_path / "tls"))
    trusting = ssl.create_default_context(cafile=str(authority.path))
    async with serve("127.0.0.1", 0, Desk().routes, limits=SHORT, tls=lambda: tls) as port:
        async with clients(port, 20, b"\x16\x03\x01") as silent, aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{port}/healthz"
            async with session.get(url, ssl=trusting) as answer:
                assert answer.status == 200
            for each in silent:
                await ended(each)
        async with clients(port, 3, GET) as plain:
            assert [b"200" in await ended(each) for each in plain] == [False] * 3


@pytest.mark.parametrize("error", [OSError("no descriptor left"), ssl.SSLError("no key"), ValueError("no PEM")])
async def test_a_certificate_that_cannot_be_loaded_costs_one_connection_and_not_all(
    tmp_path: Path, error: Exception
) -> None:
    authority = Authority(tmp_path / "authority")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.issue(tmp_path / "tls"))
    trusting = ssl.create_default_context(cafile=str(authority.path))
    failures = [error, error]

    def context() -> ssl.SSLContext:
        if failures:
            raise failures.pop()
        return tls

    async with serve("127.0.0.1", 0, Desk().routes, limits=SHORT, tls=context) as port:
        async with clients(port, 2) as refused:
            for each in refused:
                assert await ended(each) == b""
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(5)) as session,
            session.get(f"https://127.0.0.1:{port}/healthz", ssl=trusting) as answer,
        ):
            assert answer.status == 200


async def test_a_port_that_is_taken_is_reported() -> None:
    async with serve("127.0.0.1", 0, []) as port:
        with pytest.raises(OSError, match="in use"):
            async with serve("127.0.0.1", port, []):
                pass


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_the_ports_of_the_operator_are_open_for_both_families_of_addresses(host: str) -> None:
    """The kubelet of a cluster with IPv6 asks at the pod's address of that family."""
    if ":" in host and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    options = OperatorOptions()
    hosts = {options.health_host, options.metrics_host, options.webhook_host, options.database_view_host}
    assert len(hosts) == 1
    async with serve(hosts.pop(), 0, health_routes(lambda: ())) as port, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(GET)
        assert b" 200 " in await reader.readline()
        writer.close()
