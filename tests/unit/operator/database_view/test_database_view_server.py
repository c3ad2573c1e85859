"""The endpoint: rights come before everything else, and a process that does not know a cluster says so."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec
import pytest

from stateward.engines.search.declared.preview import ObjectPreview
from stateward.kube.client.client import RawRequest
from stateward.kube.objects.errors import TransportError
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import SystemClock
from stateward.operator.database_view.address import TOKEN_HEADER
from stateward.operator.database_view.answers import decode
from stateward.operator.database_view.reviews import TOKENS
from stateward.operator.database_view.server import CONCURRENT, OF_ONE_NAMESPACE, RENEWAL, DatabaseViewServer
from stateward.planning.model.database import Database, Health, Unknown


@dataclass
class Server:
    """The API server's opinion: Ann may do everything, Bob nothing; everybody else is not known.

    The accounts have tokens for the endpoint alone: one may get clusters, and one may preview.
    """

    broken: bool = False
    reviews: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    full: asyncio.Event = field(default_factory=asyncio.Event)
    rights: list[tuple[str, str]] = field(default_factory=list)
    """Verbs and plurals that were asked about."""

    def __post_init__(self) -> None:
        self.gate.set()

    async def request(self, request: RawRequest) -> bytes:
        self.reviews += 1
        if self.reviews == CONCURRENT:
            self.full.set()
        await self.gate.wait()
        if self.broken:
            raise TransportError("reset")
        spec: Any = msgspec.json.decode(msgspec.json.encode(request.body))["spec"]
        if request.path == TOKENS:
            audiences = spec.get("audiences", [])
            known = spec["token"] in ({"viewing", "previewing"} if audiences else {"ann", "bob"})
            user = {"username": spec["token"]}
            return msgspec.json.encode({"status": {"authenticated": known, "user": user, "audiences": audiences}})
        verb = spec["resourceAttributes"]["verb"]
        self.rights.append((verb, spec["resourceAttributes"]["resource"]))
        allowed = spec["user"] == "ann" or (spec["user"], verb) in {("viewing", "get"), ("previewing", "preview")}
        return msgspec.json.encode({"status": {"allowed": allowed}})


@dataclass
class Endpoint:
    api: Server
    port: int
    asked: list[tuple[str, Key]]
    served: DatabaseViewServer

    async def get(self, token: str = "", path: str = "prod/osclusters/logs") -> tuple[int, bytes]:
        url = f"https://127.0.0.1:{self.port}/v1/namespaces/{path}/database"
        headers = {TOKEN_HEADER: token} if token else {}
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=False) as answer:
            return answer.status, await answer.read()

    async def preview(self, token: str, body: bytes, plural: str = "searchobjects") -> tuple[int, bytes]:
        url = f"https://127.0.0.1:{self.port}/v1/namespaces/prod/{plural}/preview"
        headers = {TOKEN_HEADER: token} if token else {}
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, headers=headers, data=body, ssl=False) as answer,
        ):
            return answer.status, await answer.read()


@pytest.fixture
async def endpoint() -> AsyncGenerator[Endpoint]:
    api, asked = Server(), list[tuple[str, Key]]()

    async def ask(plural: str, key: Key) -> Database | Unknown | None:
        asked.append((plural, key))
        return Database("i", Health.GREEN, {}) if key.name == "logs" else None

    async def preview(plural: str, offered: Any) -> ObjectPreview | None:
        asked.append((f"{plural} {type(offered).__name__}", Key(offered.metadata.namespace, offered.metadata.name)))
        return ObjectPreview("it", "create")

    server = DatabaseViewServer(api, ask, "stateward-system", SystemClock(), preview)  # type: ignore[arg-type]
    async with server.serving("127.0.0.1", 0) as port:
        yield Endpoint(api, port, asked, server)


async def test_a_user_with_the_right_gets_the_report(endpoint: Endpoint) -> None:
    status, body = await endpoint.get("ann")
    assert (status, decode(body)) == (200, Database("i", Health.GREEN, {}))
    assert endpoint.asked == [("osclusters", Key("prod", "logs"))]


async def test_without_the_right_nothing_is_looked_up(endpoint: Endpoint) -> None:
    assert [(await endpoint.get(token))[0] for token in ("", "eve", "bob")] == [401, 401, 403]
    assert (await endpoint.get("ann", "prod/secrets/logs"))[0] == 404
    assert endpoint.asked == []


async def test_a_token_for_the_endpoint_alone_shows_what_its_account_may_see(endpoint: Endpoint) -> None:
    assert (await endpoint.get("viewing"))[0] == 200
    assert (await endpoint.get("previewing"))[0] == 403
    assert (await endpoint.preview("previewing", OFFERED))[0] == 200
    status, body = await endpoint.preview("viewing", OFFERED)
    assert (status, b"neither create nor preview" in body) == (403, True)
    assert [plural for plural, _ in endpoint.asked] == ["osclusters", "searchobjects SearchObject"]


async def test_a_cluster_that_this_process_does_not_know_is_told_only_to_those_with_the_right(
    endpoint: Endpoint,
) -> None:
    assert (await endpoint.get("bob", "prod/osclusters/other"))[0] == 403
    status, body = await endpoint.get("ann", "prod/osclusters/other")
    assert status == 404
    assert b"manages no osclusters prod/other" in body


async def test_rights_that_cannot_be_checked_are_no_rights(endpoint: Endpoint) -> None:
    endpoint.api.broken = True
    assert (await endpoint.get("ann"))[0] == 503
    assert endpoint.asked == []


async def test_more_requests_than_are_answered_at_once_are_sent_away(endpoint: Endpoint) -> None:
    endpoint.api.gate.clear()
    waiting = [asyncio.create_task(endpoint.get("ann")) for _ in range(CONCURRENT)]
    await endpoint.api.full.wait()
    assert (await endpoint.get("ann"))[0] == 429
    endpoint.api.gate.set()
    assert {status for status, _ in await asyncio.gather(*waiting)} == {200}


async def test_a_database_that_answers_slowly_leaves_room_for_those_of_other_namespaces(endpoint: Endpoint) -> None:
    """The disaster: a tenant asks for its own silent database all the time, and no one else gets an answer."""
    answering, slow = endpoint.served.ask, asyncio.Event()

    async def ask(plural: str, key: Key) -> Database | Unknown | None:
        if key.namespace == "loud":
            await slow.wait()
        return await answering(plural, key)

    endpoint.served.ask = ask
    waiting = [asyncio.create_task(endpoint.get("ann", "loud/osclusters/logs")) for _ in range(CONCURRENT)]
    sent_away, _ = await asyncio.wait(waiting, timeout=2)
    assert [task.result()[0] for task in sent_away] == [429] * (CONCURRENT - OF_ONE_NAMESPACE)
    assert (await endpoint.get("ann"))[0] == 200
    slow.set()
    assert sorted(status for status, _ in await asyncio.gather(*waiting)) == [200, 200, 429, 429]
    assert endpoint.served.busy == {}


async def test_previews_of_one_namespace_leave_room_for_other_namespaces_too(endpoint: Endpoint) -> None:
    previewing, slow = endpoint.served.preview, asyncio.Event()
    assert previewing is not None

    async def preview(plural: str, offered: Any) -> ObjectPreview:
        await slow.wait()
        return await previewing(plural, offered)

    endpoint.served.preview = preview
    waiting = [asyncio.create_task(endpoint.preview("ann", OFFERED)) for _ in range(CONCURRENT)]
    sent_away, _ = await asyncio.wait(waiting, timeout=2)
    assert [task.result()[0] for task in sent_away] == [429] * (CONCURRENT - OF_ONE_NAMESPACE)
    assert (await endpoint.get("ann", "elsewhere/osclusters/logs"))[0] == 200
    slow.set()
    assert sorted(status for status, _ in await asyncio.gather(*waiting)) == [200, 200, 429, 429]


OFFERED = msgspec.json.encode(
    {
        "metadata": {"name": "one", "namespace": "elsewhere"},
        "spec": {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}, "object": "indexTemplate/logs"},
    }
)


async def test_a_user_that_may_create_objects_sees_what_one_would_change(endpoint: Endpoint) -> None:
    status, body = await endpoint.preview("ann", OFFERED)
    assert (status, msgspec.json.decode(body, type=ObjectPreview).does) == (200, "create")
    assert endpoint.asked == [("searchobjects SearchObject", Key("prod", "one"))], "where the right was checked"


@pytest.mark.parametrize(
    ("plural", "kind", "more"),
    [("searchusers", "SearchUser", {}), ("searchrestores", "SearchRestore", {"repository": "r", "snapshot": "s"})],
)
async def test_users_and_restores_are_previewed_with_the_right_to_create_them(
    endpoint: Endpoint, plural: str, kind: str, more: dict[str, str]
) -> None:
    cluster = {"kind": "OpenSearchCluster", "name": "logs"}
    body = msgspec.json.encode({"metadata": {"name": "one"}, "spec": {"cluster": cluster, **more}})
    assert (await endpoint.preview("ann", body, plural))[0] == 200
    assert endpoint.asked == [(f"{plural} {kind}", Key("prod", "one"))]
    assert endpoint.api.rights[-1] == ("create", plural)


@pytest.mark.parametrize("plural", ["searchsnapshots", "secrets", "osclusters"])
async def test_no_other_kind_is_previewed(endpoint: Endpoint, plural: str) -> None:
    assert (await endpoint.preview("ann", OFFERED, plural))[0] == 404
    assert endpoint.asked == []


async def test_without_the_right_nothing_is_previewed(endpoint: Endpoint) -> None:
    assert [(await endpoint.preview(token, OFFERED))[0] for token in ("", "eve", "bob")] == [401, 401, 403]
    assert (await endpoint.preview("ann", b"{}"))[0] == 400
    assert (await endpoint.preview("ann", b"[" * 100_000))[0] == 400
    assert (await endpoint.preview("ann", OFFERED.replace(b"one", b"\xff")))[0] == 400
    assert endpoint.asked == []


async def test_a_token_that_is_no_text_is_none(endpoint: Endpoint) -> None:
    """No request can carry it to the API server: without this, any client can fill the log with tracebacks."""
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port, ssl=trust)
    head = f"GET /v1/namespaces/prod/osclusters/logs/database HTTP/1.1\r\nHost: x\r\n{TOKEN_HEADER}: ".encode()
    writer.write(head + b"\xff\r\n\r\n")
    answer = await reader.readline()
    writer.transport.abort()
    assert answer.split()[1] == b"401"


async def test_no_other_path_or_method_is_served(endpoint: Endpoint) -> None:
    base = f"https://127.0.0.1:{endpoint.port}"
    async with aiohttp.ClientSession() as session:
        for method, path in (("GET", "/"), ("POST", "/v1/namespaces/prod/osclusters/logs/database"), ("GET", "/v1")):
            async with session.request(method, base + path, ssl=False) as answer:
                assert answer.status in {404, 405}


def test_the_certificate_is_renewed_in_half_of_its_life() -> None:
    class Clock(SystemClock):
        at = 0.0

        def now(self) -> Any:
            from datetime import UTC, datetime

            return datetime.fromtimestamp(1_767_000_000 + self.at, UTC)

    clock = Clock()
    server = DatabaseViewServer(None, None, "s", clock)  # type: ignore[arg-type]
    first = server.context()
    clock.at = RENEWAL - 1
    assert server.context() is first
    clock.at = RENEWAL + 1
    assert server.context() is not first
