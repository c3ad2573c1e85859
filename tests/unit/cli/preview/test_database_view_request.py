"""`plan` and `explain` of clusters whose database the viewer cannot reach: the operator is asked."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast
from urllib.parse import unquote

import msgspec
import pytest
from click.testing import CliRunner, Result

from stateward.cli.main import cli
from stateward.cli.preview.database_view import SECONDS, shown_token
from stateward.cli.shared.session import Session, Target
from stateward.kube.client.client import RawRequest
from stateward.kube.objects.errors import Forbidden, NotFound, Unavailable, UnknownResource
from stateward.operator.database_view.address import ACCOUNT, AUDIENCE, PREVIEW_ACCOUNT, TOKEN_HEADER
from stateward.operator.database_view.answers import encode, shown
from stateward.planning.model.database import Copy, CopyState, Database, Health, Node, Unit
from tests.support.moved_clock import MovedClock
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.preview.test_plan_command import running as running  # noqa: PLC0414 - a fixture

VIEW = (
    "/api/v1/namespaces/stateward-system/services/https:stateward-database-view:view/proxy"
    "/v1/namespaces/default/osclusters/logs/database"
)
MEMBERS = ("logs-hot-0", "logs-hot-1", "logs-managers-0")
NODES = {name: Node(name, "2.17.1", data="hot" in name, voting="managers" in name) for name in MEMBERS}
UNIT = Unit("docs[0]", 1, (Copy(CopyState.STARTED, primary=True, member="logs-hot-1"),))
REPORT = Database("uuid", Health.GREEN, NODES, (UNIT,), "logs-managers-0", frozenset({"logs-managers-0"}), secured=True)


class Viewer:
    """A user with a token, or without one."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.token = "viewer's"
        self.sent: list[RawRequest] = []
        self.minted: list[RawRequest] = []
        """Requests for tokens, and what they are answered with."""
        self.mints: Any = msgspec.json.encode({"status": {"token": "short"}})
        self.answer: Any = encode(shown(REPORT))
        """What each request is answered with, or each in turn."""
        plain = api.request

        async def request(asked: RawRequest) -> bytes:
            if asked.path.endswith("/token"):
                self.minted.append(asked)
                answer = self.mints
            elif "database-view" in asked.path:
                self.sent.append(asked)
                answer = self.answer
            else:
                return await plain(asked)
            if isinstance(answer, list):
                answer = cast("list[Any]", answer).pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        api.request = request  # type: ignore[method-assign]

    @asynccontextmanager
    async def open(self, target: Target) -> AsyncGenerator[Session]:
        async def token() -> str:
            return self.token

        async with self.api.open(target) as session:
            yield replace(session, token=token)

    def types(self, *words: str) -> Result:
        return CliRunner().invoke(cli, words, obj=self.open)


@pytest.fixture
def viewer(running: FakeApi) -> Viewer:
    for (plural, _), document in running.objects.items():
        if plural == "osclusters":
            document["spec"] = {**document["spec"], "security": {"enabled": True}}
    return Viewer(running)


def test_a_secured_database_is_seen_as_the_operator_sees_it(viewer: Viewer) -> None:
    said = viewer.types("plan", "logs")
    assert "the database could not be reached" not in said.output
    assert [(unquote(asked.path), asked.headers) for asked in viewer.sent] == [(VIEW, {TOKEN_HEADER: "short"})]


def test_the_namespace_of_the_operator_can_be_named(viewer: Viewer) -> None:
    viewer.types("plan", "logs", "--operator-namespace", "elsewhere")
    assert viewer.sent[0].path.startswith("/api/v1/namespaces/elsewhere/services/")


TOKENS = "/api/v1/namespaces/stateward-system/serviceaccounts/{}/token"


@pytest.mark.parametrize("token", ["viewer's", ""])
def test_the_token_is_for_the_operators_endpoint_alone(viewer: Viewer, token: str) -> None:
    viewer.token = token
    assert "the database could not be reached" not in viewer.types("plan", "logs").output
    (request,) = viewer.minted
    assert (request.path, request.method, request.headers or {}) == (TOKENS.format(ACCOUNT), "POST", {})
    body = msgspec.json.decode(msgspec.json.encode(request.body))
    assert body["spec"] == {"audiences": [AUDIENCE], "expirationSeconds": 600}
    assert [asked.headers for asked in viewer.sent] == [{TOKEN_HEADER: "short"}]


DENIED = Forbidden("cannot create serviceaccounts/token")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (DENIED, "ask for the right to create its serviceaccounts/token, or add --send-token"),
        (NotFound("no such account"), "it has no endpoint there"),
        (Unavailable("etcd is gone"), "etcd is gone"),
        (b"ok", "the API server gives no token"),
        (b"{}", "the API server gives no token"),
    ],
)
def test_a_user_that_gets_no_token_is_told_and_sends_none(viewer: Viewer, answer: Exception | bytes, says: str) -> None:
    viewer.mints = answer
    assert says in " ".join(viewer.types("plan", "logs").output.split())
    assert viewer.sent == []


@pytest.mark.parametrize("command", ["plan", "rehearse"])
def test_the_own_token_is_sent_to_those_that_want_it_and_may_request_none(viewer: Viewer, command: str) -> None:
    viewer.mints = DENIED
    viewer.types(command, "logs", "--send-token")
    assert [asked.headers for asked in viewer.sent] == [{TOKEN_HEADER: "viewer's"}]
    viewer.mints = msgspec.json.encode({"status": {"token": "short"}})
    viewer.types(command, "logs", "--send-token")
    assert viewer.sent[-1].headers == {TOKEN_HEADER: "short"}, "that of the endpoint comes first"


@pytest.mark.parametrize("answer", [Unavailable("etcd is gone"), b"{}"])
def test_only_a_refusal_sends_the_own_token(viewer: Viewer, answer: Exception | bytes) -> None:
    viewer.mints = answer
    viewer.types("plan", "logs", "--send-token")
    assert viewer.sent == []


def test_a_certificate_cannot_be_sent(viewer: Viewer) -> None:
    viewer.mints, viewer.token = DENIED, ""
    assert "no token to send" in " ".join(viewer.types("plan", "logs", "--send-token").output.split())
    assert viewer.sent == []


def test_a_token_is_used_for_half_of_its_life(viewer: Viewer) -> None:
    clock = MovedClock()

    async def asked() -> None:
        async with viewer.open(Target()) as opened:
            session = replace(opened, clock=clock)
            for later in (0.0, SECONDS / 2 - 1, 2.0):
                clock.later(later)
                assert await shown_token(session, ACCOUNT) == "short"
            assert await shown_token(session, PREVIEW_ACCOUNT) == "short"

    asyncio.run(asked())
    accounts = (ACCOUNT, ACCOUNT, PREVIEW_ACCOUNT)
    assert [each.path for each in viewer.minted] == [TOKENS.format(account) for account in accounts]


@pytest.mark.parametrize(
    ("error", "says", "times"),
    [
        (Forbidden("you may not get osclusters default/logs"), "you may not get osclusters default/logs", 1),
        (
            UnknownResource("this process manages no osclusters default/logs"),
            "manages no osclusters",
            1,
        ),
        (Unavailable("dial tcp 10.0.0.1:9444: connection refused"), "connection refused", 2),
    ],
)
def test_why_the_operator_tells_nothing_is_a_note(viewer: Viewer, error: Exception, says: str, times: int) -> None:
    viewer.answer = error
    said = viewer.types("plan", "logs").output
    assert "it is secured, and only the operator has credentials" in said
    assert says in said
    assert len(viewer.sent) == times


def test_it_asks_once_more_while_a_pod_of_the_operator_is_replaced(viewer: Viewer) -> None:
    gone = Unavailable("dial tcp 10.0.0.1:9444: connection refused")
    viewer.answer = [gone, encode(shown(REPORT))]
    assert "the database could not be reached" not in viewer.types("plan", "logs").output
    assert len(viewer.sent) == 2


def test_a_plan_without_a_report_takes_members_from_the_status(viewer: Viewer) -> None:
    viewer.answer = msgspec.json.encode({"unknown": "no answer within 10 s"})
    said = viewer.types("plan", "logs").output
    assert "no answer within 10 s" in said
