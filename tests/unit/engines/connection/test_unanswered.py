"""The message says why a database did not respond, instead of a socket error."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable

import aiohttp
import pytest

from stateward.engines.connection import no_answer
from stateward.engines.connection.base import Call, UnreachableError
from stateward.engines.connection.http import HttpTransport
from stateward.engines.connection.no_answer import failure_text

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


def talk_nonsense(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\x01nonsense\r\n\r\n")
    writer.close()


async def asked(scheme: str, peer: Peer) -> str:
    """Return what is said of a peer that answers like this."""
    server = await asyncio.start_server(peer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, aiohttp.ClientSession() as session:
        return await why(session, f"{scheme}://127.0.0.1:{port}")


@pytest.mark.parametrize(("method", "sent"), [("GET", 2), ("PUT", 1), ("DELETE", 1), ("POST", 1)])
async def test_only_a_read_is_sent_again_by_itself(method: str, sent: int) -> None:
    """The database may have done what it did not answer: the caller reads before it tries again."""
    received: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, aiohttp.ClientSession() as session:
        with pytest.raises(UnreachableError) as caught:
            await HttpTransport(session).send(Call(endpoint, method, "/_snapshot/backups/nightly", body={}))
    assert len(received) == sent
    assert str(caught.value) == f"{endpoint} cannot be reached: {no_answer.HUNG_UP}"


async def why(session: aiohttp.ClientSession, endpoint: str) -> str:
    with pytest.raises(UnreachableError) as caught:
        await HttpTransport(session).send(Call(endpoint, "GET", "/"))
    return str(caught.value)


async def test_a_database_that_does_not_run() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with aiohttp.ClientSession() as session:
            assert await why(session, endpoint) == f"{endpoint} cannot be reached: {no_answer.REFUSED}"


async def test_one_that_hangs_up() -> None:
    assert no_answer.HUNG_UP in await asked("http", hang_up)


async def test_something_else_than_a_database() -> None:
    assert no_answer.NOT_HTTP in await asked("http", talk_nonsense)


async def test_encryption_on_one_side_only() -> None:
    assert "the TLS handshake failed: one side does not speak TLS, or they share no version" in await asked(
        "https", talk_nonsense
    )


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EHOSTUNREACH, "No route to host"), no_answer.UNROUTED),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), no_answer.UNROUTED),
        (ConnectionResetError(errno.ECONNRESET, "reset"), no_answer.HUNG_UP),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
        (ConnectionError(), "ConnectionError"),
        (ValueError("no such port"), "no such port"),
    ],
)
def test_system_errors_are_reported_by_the_system_message(error: Exception, text: str) -> None:
    assert failure_text(error) == text


def test_a_certificate_that_is_not_trusted_is_reported_with_its_reason() -> None:
    error = ssl.SSLCertVerificationError(1, "verify failed")
    error.verify_message = "certificate has expired"
    assert failure_text(error) == "its certificate is not trusted: certificate has expired"
