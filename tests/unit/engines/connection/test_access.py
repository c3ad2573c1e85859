"""A secured database is verified by name and by authority, whatever its address, and is shown who asks."""

import asyncio
import gc
import ssl
import time
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from stateward import pki
from stateward.engines.connection.access import Access, BadAccessError, Contexts, context
from stateward.engines.connection.base import Call, UnreachableError
from stateward.engines.connection.http import HttpTransport
from tests.support.intermediate import intermediate

NAME = "logs.data.svc"
NOW = time.time()
AUTHORITY = pki.new_authority("logs", NOW)
OTHER = pki.new_authority("other", NOW)
CLIENT = pki.issue(AUTHORITY.signs, "operator", ["operator"], NOW)
ACCESS = Access(NAME, AUTHORITY.bundle, CLIENT.certificate, CLIENT.key)


def server_context(folder: Path, pair: pki.Pair) -> ssl.SSLContext:
    """Return what a database of this certificate serves with; it takes only clients of its authority."""
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=AUTHORITY.bundle)
    made.verify_mode = ssl.CERT_REQUIRED
    (folder / "tls.crt").write_text(pair.certificate)
    (folder / "tls.key").write_text(pair.key)
    made.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return made


async def name_the_client(request: web.Request) -> web.Response:
    """Answer with the name that the client has shown."""
    assert request.transport is not None
    shown = request.transport.get_extra_info("peercert")
    return web.Response(text=dict(part[0] for part in shown["subject"])["commonName"])


@asynccontextmanager
async def database(folder: Path, pair: pki.Pair) -> AsyncGenerator[str]:
    """Serve on a loopback address, which is in no certificate."""
    app = web.Application()
    app.router.add_get("/", name_the_client)
    server = TestServer(app, scheme="https", host="127.0.0.1")
    await server.start_server(ssl=server_context(folder, pair))
    yield f"https://127.0.0.1:{server.port}"
    await server.close()


def pair(*names: str, authority: pki.Authority = AUTHORITY, now: float = NOW, days: float = 90) -> pki.Pair:
    return pki.issue(authority.signs, "member", names, now, days)


@pytest.fixture
async def session() -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made


async def test_the_database_is_known_by_its_name_and_shown_who_asks(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with database(tmp_path, pair(NAME)) as url:
        answer = await HttpTransport(session).within(ACCESS).send(Call(url, "GET", "/"))
    assert (answer.status, answer.body) == (200, b"operator")


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(pair("other.data.svc"), id="another name"),
        pytest.param(pair("127.0.0.1"), id="only the address"),
        pytest.param(pair(NAME, authority=OTHER), id="another authority"),
        pytest.param(pair(NAME, now=NOW - 90 * 86400, days=1), id="ended"),
    ],
)
async def test_a_peer_that_cannot_prove_to_be_the_database_gets_no_request(
    shown: pki.Pair, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with database(tmp_path, shown) as url:
        with pytest.raises(UnreachableError, match="its certificate is not trusted"):
            await HttpTransport(session).within(ACCESS).send(Call(url, "GET", "/"))


async def test_without_an_access_the_usual_authorities_are_trusted_and_no_other(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with database(tmp_path, pair(NAME)) as url:
        with pytest.raises(UnreachableError):
            await HttpTransport(session).send(Call(url, "GET", "/"))


async def test_both_authorities_are_trusted_while_one_follows_the_other(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    both = Access(NAME, AUTHORITY.bundle + OTHER.bundle, CLIENT.certificate, CLIENT.key)
    for authority in (AUTHORITY, OTHER):
        async with database(tmp_path, pair(NAME, authority=authority)) as url:
            assert (await HttpTransport(session).within(both).send(Call(url, "GET", "/"))).status == 200


async def test_an_authority_is_trusted_alone_though_another_one_has_signed_it(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """The root that companies keep to themselves is neither needed nor trusted."""
    team = pki.Authority(intermediate(pki.new_authority("root without a path", NOW).signs, NOW))
    alone = Access(NAME, AUTHORITY.bundle + team.bundle, CLIENT.certificate, CLIENT.key)
    async with database(tmp_path, pair(NAME, authority=team)) as url:
        assert (await HttpTransport(session).within(alone).send(Call(url, "GET", "/"))).status == 200


async def test_a_client_of_another_authority_gets_an_error_that_says_so(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    stranger = pki.issue(OTHER.signs, "stranger", ["stranger"], NOW)
    access = Access(NAME, AUTHORITY.bundle, stranger.certificate, stranger.key)
    async with database(tmp_path, pair(NAME)) as url:
        with pytest.raises(UnreachableError):
            await HttpTransport(session).within(access).send(Call(url, "GET", "/"))


@pytest.mark.parametrize(
    "access",
    [
        Access(NAME, "no certificate"),
        Access(NAME, AUTHORITY.bundle, CLIENT.certificate, OTHER.signs.key),
        Access(NAME, AUTHORITY.bundle, CLIENT.certificate, "no key"),
    ],
)
async def test_what_cannot_be_used_is_reported_without_showing_it(
    access: Access, session: aiohttp.ClientSession
) -> None:
    with pytest.raises(BadAccessError) as refused:
        context(access)
    assert str(refused.value).startswith(f"the certificates for {NAME} cannot be used")
    assert "no key" not in str(refused.value)
    with pytest.raises(UnreachableError, match="cannot be used"):
        await HttpTransport(session).within(access).send(Call("https://127.0.0.1:1", "GET", "/"))


def test_the_key_is_in_no_text() -> None:
    assert CLIENT.key not in repr(ACCESS)
    assert "PRIVATE" not in f"{ACCESS}"


def test_a_context_is_made_once_and_old_ones_are_forgotten() -> None:
    contexts = Contexts(most=1)
    first = contexts.of(ACCESS)
    assert contexts.of(ACCESS) is first
    contexts.of(Access(NAME, OTHER.bundle))
    assert contexts.of(ACCESS) is not first


async def test_a_changed_certificate_takes_effect_with_the_next_request(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """Connections that were opened under the old one are not used for the new one."""
    transport = HttpTransport(session)
    renewed = pki.issue(AUTHORITY.signs, "renewed", ["operator"], NOW)
    async with database(tmp_path, pair(NAME)) as url:
        assert (await transport.within(ACCESS).send(Call(url, "GET", "/"))).body == b"operator"
        after = Access(NAME, AUTHORITY.bundle, renewed.certificate, renewed.key)
        assert (await transport.within(after).send(Call(url, "GET", "/"))).body == b"renewed"


async def test_a_failed_handshake_leaves_no_buffers_behind(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Twenty clusters whose certificates were not accepted held 250 TLS protocols of 256 KiB, until a full collection.

    The error kept the frames of the handshake, and these the error. A collector that comes late must not matter.
    """
    transport = HttpTransport(session).within(ACCESS)
    async with database(tmp_path, pair("other.data.svc")) as url:
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                with pytest.raises(UnreachableError):
                    await transport.send(Call(url, "GET", "/"))
            await asyncio.sleep(0.05)  # The event loop's own callbacks of closed connections.
            kept = [each for each in gc.get_objects() if isinstance(each, SSLProtocol) and not each._server_side]
        finally:
            gc.enable()
    assert len(kept) <= 2
