"""The page in the operator: read-only, and only for users that Kubernetes or a proxy in the pod has authenticated."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest

from stateward.cli.dashboard.in_operator import is_loopback, operator_page
from stateward.cli.dashboard.reviews import KEPT_SECONDS, ReviewGuard
from stateward.cli.run.operator import page_of
from stateward.kube.client.client import RawRequest
from stateward.kube.objects.errors import Forbidden
from stateward.operator.database_view.reviews import ACCESS, TOKENS
from stateward.operator.runtime.options import OperatorOptions
from tests.support.memory_server import MemoryServer, many
from tests.support.moved_clock import MovedClock

GROUPS = ["system:authenticated", "sre"]


class ReviewingServer(MemoryServer):
    """A server that knows two tokens: one user may list clusters, the other may not."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.refuses = False
        self.api.request = self._request

    async def _request(self, request: RawRequest) -> bytes:
        self.asked.append(request.path)
        if self.refuses:
            raise Forbidden("tokenreviews is forbidden")
        spec: dict[str, Any] = msgspec.to_builtins(request.body)["spec"]
        if request.path == TOKENS:
            known = spec["token"] in ("viewer", "stranger")
            user = {"username": spec["token"], "uid": "1", "groups": GROUPS, "extra": {"a": ["b"]}}
            return msgspec.json.encode({"status": {"authenticated": known, "user": user if known else {}}})
        assert request.path == ACCESS
        assert (spec["groups"], spec["extra"]) == (GROUPS, {"a": ["b"]})
        assert spec["resourceAttributes"]["verb"] == "list"
        return msgspec.json.encode({"status": {"allowed": spec["user"] == "viewer"}})


@asynccontextmanager
async def opened_page(host: str = "127.0.0.1") -> AsyncGenerator[tuple[ReviewingServer, str]]:
    server = ReviewingServer()
    for cluster in many(3):
        server.add(cluster)
    options = OperatorOptions(page=True, page_host=host, page_port=0)
    async with operator_page(server.api, server.session().execute, options) as port:
        yield server, f"http://127.0.0.1:{port}/page/"


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
        assert await status(url, Authorization="Bearer viewer") == 200
        assert await status(f"{url}events", Authorization="Bearer stranger") == 403


async def test_at_a_loopback_address_the_proxy_has_authenticated_and_a_token_still_counts() -> None:
    async with opened_page() as (_, url):
        assert await status(url) == 200
        assert await status(url, Authorization="Bearer stranger") == 403


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
    guard = ReviewGuard(server.api, clock, ("",), proxied=False)
    for expected, passed in ((4, 0.0), (4, KEPT_SECONDS - 1.0), (8, 2.0)):
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
