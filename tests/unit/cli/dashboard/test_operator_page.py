"""The page in the operator: read-only, and only for users that Kubernetes or a proxy in the pod has authenticated."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest

from stateward.cli.dashboard.in_operator import is_loopback, operator_page
from stateward.cli.dashboard.operator_reads import NOT_HERE
from stateward.cli.dashboard.reviews import KEPT_SECONDS, ReviewGuard
from stateward.cli.run.operator import page_of
from stateward.engines.connection.base import Speed
from stateward.kube.client.client import RawRequest
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key
from stateward.operator.database_view.reviews import ACCESS, TOKENS
from stateward.operator.runtime.options import OperatorOptions
from stateward.planning.model.database import Copy, CopyState, Database, Health, Node, Unit, Unknown
from tests.support.memory_server import MemoryServer, many
from tests.support.moved_clock import MovedClock

GROUPS = ["system:authenticated", "sre"]
FIRST = "default/opensearch/logs-000"
UNIT = Unit("docs[0]", 1, (Copy(CopyState.STARTED, primary=True, member="logs-000-hot-1"),))
NODE = Node("logs-000-hot-1", "2.19.5", data=True, voting=True, disk_total=100, disk_free=40)
REPORT = Database("u", Health.GREEN, {NODE.name: NODE}, (UNIT,), connection="logs:credential@10.0.0.1:4500")


class Databases:
    """The operator's own reading of databases, which notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Key] = []
        self.answer: Database | Unknown | None = REPORT

    async def report(self, plural: str, key: Key) -> Database | Unknown | None:
        assert plural == "osclusters"
        self.asked.append(key)
        return self.answer

    async def speed(self, plural: str, key: Key) -> Speed:
        assert (plural, self.answer) == ("osclusters", REPORT)
        self.asked.append(key)
        return Speed()


class ReviewingServer(MemoryServer):
    """A server that knows three users: one may list and get clusters, one only list them, and one neither."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.databases = Databases()
        self.refuses = False
        self.api.request = self._request

    async def _request(self, request: RawRequest) -> bytes:
        self.asked.append(request.path)
        if self.refuses:
            raise Forbidden("tokenreviews is forbidden")
        spec: dict[str, Any] = msgspec.to_builtins(request.body)["spec"]
        if request.path == TOKENS:
            known = spec["token"] in ("viewer", "lister", "stranger")
            user = {"username": spec["token"], "uid": "1", "groups": GROUPS, "extra": {"a": ["b"]}}
            return msgspec.json.encode({"status": {"authenticated": known, "user": user if known else {}}})
        assert request.path == ACCESS, "only reviews: nothing goes through a proxy of the API server"
        assert (spec["groups"], spec["extra"]) == (GROUPS, {"a": ["b"]})
        attributes = spec["resourceAttributes"]
        assert (attributes["name"], attributes["namespace"]) == ("", "")
        may = {"viewer": ("list", "get"), "lister": ("list",)}.get(spec["user"], ())
        return msgspec.json.encode({"status": {"allowed": attributes["verb"] in may}})


@asynccontextmanager
async def opened_page(
    host: str = "127.0.0.1", names: tuple[str, ...] = ()
) -> AsyncGenerator[tuple[ReviewingServer, str]]:
    server = ReviewingServer()
    for cluster in many(3):
        server.add(cluster)
    options = OperatorOptions(page=True, page_host=host, page_port=0, page_names=names)
    async with operator_page(server.api, options, server.databases) as port:
        yield server, f"http://127.0.0.1:{port}/page/"


async def shown(url: str, until: str) -> dict[str, Any]:
    """Return the cluster as the page shows it, once its text contains something."""
    async with (
        asyncio.timeout(10),
        aiohttp.ClientSession(read_bufsize=1 << 20) as http,
        http.get(f"{url}events", params={"cluster": FIRST}) as answer,
    ):
        name = b""
        async for line in answer.content:
            name = line if line.startswith(b"event: ") else name
            if name == b"event: cluster\n" and line.startswith(b"data: ") and until.encode() in line:
                return msgspec.json.decode(line.removeprefix(b"data: "))
    raise AssertionError("the stream has ended")


async def status(url: str, method: str = "GET", **headers: str) -> int:
    json = {} if method == "POST" else None
    async with aiohttp.ClientSession() as http, http.request(method, url, headers=headers, json=json) as answer:
        return answer.status


async def test_at_an_address_of_the_pod_a_client_needs_a_token_of_a_user_that_may_list_clusters() -> None:
    async with opened_page("0.0.0.0") as (_, url):  # noqa: S104 - the address that is tested
        assert await status(url) == 401
        assert await status(url, Authorization="Basic dXNlcjpwYXNz") == 401
        assert await status(url, Authorization="Bearer unknown") == 403
        assert await status(url, Authorization="Bearer stranger") == 403
        assert await status(url, Authorization="Bearer lister") == 403, "the database view asks for the right to get"
        assert await status(url, Authorization="Bearer viewer") == 200
        assert await status(f"{url}events", Authorization="Bearer stranger") == 403


async def test_at_a_loopback_address_the_proxy_has_authenticated_and_a_token_still_counts() -> None:
    async with opened_page() as (_, url):
        assert await status(url) == 200
        assert await status(url, Authorization="Bearer stranger") == 403


async def test_a_web_site_that_gives_its_name_this_address_reads_nothing() -> None:
    """An administrator that forwards a port to the pod has no proxy before the page, and no token in the browser."""
    async with opened_page() as (_, url):
        for site in ("evil.example", "evil.example:8084", "127.0.0.1.evil.example:8084", "localhost.evil.example"):
            assert await status(url, Host=site) == 421
            assert await status(f"{url}events", Host=site) == 421
        assert await status(url, Host="evil.example", Authorization="Bearer viewer") == 200, "no site knows a token"
        for own in ("127.0.0.1:8084", "localhost:9999", "[::1]:8084", "localhost"):
            assert await status(url, Host=own) == 200


async def test_a_proxy_that_keeps_the_name_in_host_is_answered_by_the_names_of_the_option() -> None:
    async with opened_page(names=("Clusters.example",)) as (_, url):
        assert await status(url, Host="clusters.example") == 200
        assert await status(url, Host="clusters.example:443") == 200
        assert await status(url, Host="evil.example") == 421


async def test_shards_and_disks_are_those_that_the_operator_reads_itself() -> None:
    async with opened_page() as (server, url):
        found = await shown(url, "docs[0]")
        card = next(member for member in found["members"] if member["name"] == NODE.name)
        assert card["shards"] == [{"name": "docs[0]", "primary": True, "moving": False}]
        assert (card["shardCount"], card["diskUsed"], card["diskTotal"]) == (1, 60, 100)
        assert found["notes"] == []
        assert "credential" not in str(found)
        assert server.databases.asked == [Key("default", "logs-000")]
        assert server.asked == []


async def test_the_list_asks_no_database() -> None:
    async with opened_page() as (server, url):
        async with aiohttp.ClientSession() as http, http.get(f"{url}events") as answer:
            for _ in range(6):
                await answer.content.readline()
        assert server.databases.asked == []


@pytest.mark.parametrize(("answer", "why"), [(Unknown("no route to it"), "no route to it"), (None, NOT_HERE)])
async def test_a_database_that_does_not_answer_is_not_known_and_not_empty(answer: Unknown | None, why: str) -> None:
    async with opened_page() as (server, url):
        server.databases.answer = answer
        found = await shown(url, why)
        assert (found["dataKnown"], found["shards"]) == (False, 0)
        assert not any(member["shardsKnown"] or member["diskTotal"] for member in found["members"])
        assert found["notes"][0] == f"the operator could not read the database: {why}"


async def test_a_plan_and_an_explanation_use_what_the_page_has_just_read() -> None:
    async with opened_page() as (server, url):
        await shown(url, "docs[0]")
        async with aiohttp.ClientSession(headers={"Origin": url.removesuffix("/page/")}) as http:
            async with http.post(f"{url}plan", json={"cluster": FIRST}) as answer:
                plan = await answer.json()
                assert answer.status == 200, plan
                assert "could not" not in str(plan)
            async with http.post(f"{url}explain", json={"cluster": FIRST, "member": NODE.name}) as answer:
                assert answer.status == 200
        assert server.databases.asked == [Key("default", "logs-000")] * 2, "one look, and one speed of recovery"
        assert server.asked == []


async def test_a_review_that_fails_lets_no_one_in() -> None:
    async with opened_page("0.0.0.0") as (server, url):  # noqa: S104
        server.refuses = True
        assert await status(url, Authorization="Bearer viewer") == 503


async def test_it_changes_nothing_and_answers_only_its_own_requests() -> None:
    async with opened_page() as (server, url):
        before = server.store.version
        origin = url.removesuffix("/page/")
        assert await status(f"{url}act", "POST") == 403
        assert await status(f"{url}act", "POST", Origin="https://evil.example") == 403
        async with aiohttp.ClientSession(headers={"Origin": origin}) as http:
            asked = {"cluster": "default/opensearch/logs-000", "verb": "pause"}
            async with http.post(f"{url}act", json=asked) as answer:
                assert answer.status == 409
                assert await answer.json() == {"error": "this page is read-only"}
        assert server.store.version == before


async def test_a_proxy_with_another_name_is_accepted_by_its_forwarded_host() -> None:
    async with opened_page() as (_, url):
        named = {"Origin": "https://clusters.example", "X-Forwarded-Host": "clusters.example"}
        assert await status(f"{url}plan", "POST", **named) == 400


async def test_the_answer_about_a_token_is_kept_for_a_minute_and_no_longer() -> None:
    server, clock = ReviewingServer(), MovedClock()
    guard = ReviewGuard(server.api, clock, ("",))
    for expected, passed in ((7, 0.0), (7, KEPT_SECONDS - 1.0), (14, 2.0)):
        clock.later(passed)
        assert await guard._allowed("viewer")
        assert len(server.asked) == expected


@pytest.mark.parametrize(
    ("address", "loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("x", False)],  # noqa: S104
)
def test_only_a_loopback_address_trusts_a_proxy(address: str, *, loopback: bool) -> None:
    assert is_loopback(address) is loopback


def test_without_the_flag_the_operator_has_no_page() -> None:
    assert page_of(OperatorOptions()) is None
    assert page_of(OperatorOptions(page=True)) is operator_page
