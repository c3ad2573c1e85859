"""Failures become typed errors, a write that may have happened says so, and nothing is repeated that could do harm."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web

from stateward.kube.access.connection import Connection, Tls
from stateward.kube.access.credentials import Credential, StaticCredentials
from stateward.kube.client.client import (
    ApplyOptions,
    DeleteOptions,
    ListOptions,
    PatchKind,
    Preconditions,
    RawRequest,
    WatchStart,
)
from stateward.kube.client.http_client import HttpApi
from stateward.kube.client.transport import Limits
from stateward.kube.objects import errors
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import NODES, PODS, SECRETS, STATEFUL_SETS
from stateward.kube.timing.virtual_time import VirtualClock
from tests.unit.kube.fake_server import FakeServer, answer, page, pod, serving, status, stream

A = Key("ns", "a")
EXACTLY = DeleteOptions(Preconditions("uid-a", "7"), grace_seconds=0)
MANIFEST = {"metadata": {"name": "a"}}


def get(api: HttpApi) -> Awaitable[Any]:
    return api.get(PODS, A)


def write(api: HttpApi) -> Awaitable[Any]:
    return api.apply(PODS, A, MANIFEST, ApplyOptions("us"))


async def failing(*steps: Any, call: Callable[[HttpApi], Awaitable[Any]] = get) -> tuple[errors.ApiError, FakeServer]:
    async with serving(*steps) as (fake, api):
        with pytest.raises(errors.ApiError) as caught:
            await call(api)
        return caught.value, fake


ANSWERS: list[tuple[int, dict[str, Any], type[errors.ApiError]]] = [
    (400, status(400, "BadRequest"), errors.BadRequest),
    (403, status(403, "Forbidden"), errors.Forbidden),
    (404, status(404, "NotFound", name="a", kind="pods"), errors.NotFound),
    (404, status(404, "NotFound", "the server could not find the requested resource"), errors.UnknownResource),
    (409, status(409, "Conflict"), errors.Conflict),
    (409, status(409, "AlreadyExists"), errors.AlreadyExists),
    (410, status(410, "Expired"), errors.Gone),
    (410, status(410, "Gone"), errors.Gone),
    (422, status(422, "Invalid"), errors.Invalid),
    (500, status(500, "InternalError"), errors.Unavailable),
    (500, status(500, "ServerTimeout"), errors.ServerTimeout),
    (503, status(503, "ServiceUnavailable"), errors.Unavailable),
    (504, status(504, "Timeout"), errors.ServerTimeout),
]


@pytest.mark.parametrize(("code", "body", "kind"), ANSWERS)
async def test_each_answer_has_its_type(code: int, body: dict[str, Any], kind: type[errors.ApiError]) -> None:
    error, _ = await failing(answer(body, code))
    assert type(error) is kind
    assert error.status == code
    assert not error.may_have_committed


async def test_a_404_that_is_no_status_says_nothing_about_the_object() -> None:
    async def plain(_: web.Request) -> web.StreamResponse:
        return web.Response(status=404, text="404 page not found")

    error, _ = await failing(plain)
    assert type(error) is errors.UnknownResource


async def test_a_proxys_answer_is_quoted() -> None:
    async def proxy(_: web.Request) -> web.StreamResponse:
        return web.Response(status=502, text="<html>bad gateway")

    error, _ = await failing(proxy)
    assert type(error) is errors.Unavailable
    assert error.message == "HTTP 502: <html>bad gateway"


@pytest.mark.parametrize("body", [b'{"message": "caf\xe9"}', b'{"x": ' + b"[" * 10_000])
async def test_an_answer_of_a_proxy_that_no_one_can_read_is_an_api_error(body: bytes) -> None:
    """Anything else would end a watch, and the process with it."""

    async def proxy(_: web.Request) -> web.StreamResponse:
        return web.Response(status=502, body=body, content_type="application/json")

    error, _ = await failing(proxy)
    assert type(error) is errors.Unavailable
    assert error.message.startswith("HTTP 502: {")


async def test_refused_fields_are_named() -> None:
    causes = [{"field": "spec.replicas", "message": "must be positive", "reason": "FieldValueInvalid"}]
    error, _ = await failing(answer(status(422, "Invalid", causes=causes), 422))
    assert [(cause.field, cause.message) for cause in error.causes] == [("spec.replicas", "must be positive")]


@pytest.mark.parametrize("code", [500, 503, 504])
async def test_a_write_that_the_server_could_not_finish_may_have_happened(code: int) -> None:
    error, _ = await failing(answer(status(code, "InternalError"), code), call=write)
    assert error.may_have_committed


@pytest.mark.parametrize("code", [403, 409, 422])
async def test_a_write_that_was_refused_has_not_happened(code: int) -> None:
    error, _ = await failing(answer(status(code, ""), code), call=write)
    assert not error.may_have_committed


async def test_a_write_whose_answer_is_lost_may_have_happened() -> None:
    error, fake = await failing(stream(reset=True), call=write)
    assert type(error) is errors.TransportError
    assert error.may_have_committed
    assert len(fake.requests) == 1, "a write is never repeated behind the caller's back"


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Break the connection before the first byte of an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def delete(api: HttpApi) -> Awaitable[Any]:
    return api.delete(PODS, A, EXACTLY)


async def test_a_delete_whose_answer_is_lost_may_have_happened_and_is_sent_once() -> None:
    """The second would be refused, because the first has changed the pod: the caller would believe that both were."""
    changed = answer(status(409, "Conflict", "the object has been modified"), 409)
    error, fake = await failing(hang_up, changed, call=delete)
    assert [request.method for request in fake.requests] == ["DELETE"]
    assert type(error) is errors.TransportError
    assert "DELETE /api/v1/namespaces/ns/pods/a" in str(error)
    assert error.may_have_committed


async def test_a_read_whose_connection_is_lost_is_sent_once_more() -> None:
    async with serving(hang_up, answer(pod("a", 1))) as (fake, api):
        assert (await get(api)).metadata.name == "a"
        assert len(fake.requests) == 2


async def test_a_write_that_times_out_may_have_happened() -> None:
    error, _ = await failing(stream(hold=1000), call=write)
    assert type(error) is errors.TransportError
    assert "timed out" in str(error)
    assert error.may_have_committed


async def test_a_write_that_never_reached_a_server_has_not_happened() -> None:
    connection = Connection("http://127.0.0.1:1", StaticCredentials(Credential()))
    async with HttpApi(connection, clock=VirtualClock()) as api:
        with pytest.raises(errors.TransportError) as caught:
            await write(api)
    assert not caught.value.may_have_committed


async def test_a_write_whose_answer_cannot_be_read_has_happened() -> None:
    error, _ = await failing(answer({"metadata": {"name": 7}}), call=write)
    assert type(error) is errors.DecodeError
    assert error.may_have_committed


async def test_a_throttled_request_waits_for_the_time_in_the_response() -> None:
    busy = answer(status(429, "TooManyRequests"), 429, Retry_After="7")
    async with serving(busy, busy, answer(pod("a", 1))) as (_, api):
        began = VirtualClock().monotonic()
        await get(api)
        assert VirtualClock().monotonic() - began == pytest.approx(14, abs=0.5)


async def test_throttling_is_not_waited_out_for_ever() -> None:
    error, _ = await failing(*[answer(status(429, "TooManyRequests"), 429, Retry_After="9")] * 10)
    assert type(error) is errors.TooManyRequests
    assert error.retry_after == 9
    assert VirtualClock().monotonic() < 31


@pytest.mark.parametrize(("header", "seconds"), [("9", 9), ("3600", 60), ("9" * 400, 60), ("", 0), ("-5", 0)])
async def test_no_server_has_this_process_wait_for_hours(header: str, seconds: float) -> None:
    """A watch waits as long: a gateway that names an hour would keep the operator from seeing anything for an hour."""
    error, _ = await failing(answer(status(503, "ServiceUnavailable"), 503, Retry_After=header))
    assert error.retry_after == seconds
    body = status(503, "ServiceUnavailable", retryAfterSeconds=-5)
    error, _ = await failing(answer(body, 503))
    assert error.retry_after == 0


async def test_a_refused_eviction_is_the_budgets_answer_and_not_repeated() -> None:
    busy = answer(status(429, "TooManyRequests", "would violate the budget"), 429, Retry_After="1")
    error, fake = await failing(busy, answer({}), call=lambda api: api.evict(A, EXACTLY))
    assert type(error) is errors.TooManyRequests
    assert len(fake.requests) == 1


class Rotating:
    """Credentials of which the first are no longer good."""

    def __init__(self) -> None:
        self.number = 1

    async def current(self) -> Credential:
        return Credential(token=f"token-{self.number}")

    def invalidate(self, refused: Credential) -> None:
        self.number += refused.token == f"token-{self.number}"


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_401_renews_the_credentials_once(*, streaming: bool) -> None:
    refused = answer(status(401, "Unauthorized"), 401)
    async with serving(refused, stream() if streaming else answer(pod("a", 1)), refused, refused) as (fake, served):
        connection = served._transport._connection
        async with HttpApi(Connection(connection.server, Rotating()), clock=VirtualClock()) as api:
            await (drain(api) if streaming else get(api))
            tokens = [request.headers["Authorization"] for request in fake.requests]
            assert tokens == ["Bearer token-1", "Bearer token-2"]
            with pytest.raises(errors.Unauthorized):
                await (drain(api) if streaming else get(api))


async def drain(api: HttpApi) -> None:
    from stateward.kube.client.client import WatchStart

    async for _ in api.watch(PODS, Selection("ns"), WatchStart("5")):
        pass


class Unusable(Rotating):
    """A certificate that no TLS library takes, and then none."""

    async def current(self) -> Credential:
        return Credential() if self.number > 1 else Credential(certificate=b"a", key=b"b")

    def invalidate(self, refused: Credential) -> None:
        self.number += bool(refused.certificate)


async def test_a_certificate_that_cannot_be_used_is_asked_for_again() -> None:
    """A plugin printed it, and would print another one; an error that is no ApiError ends a process that watches."""
    async with serving(answer({"items": []})) as (fake, api):
        credentials = Unusable()
        connection = Connection(str(api._transport._connection.server), credentials)
        async with HttpApi(connection, clock=VirtualClock()) as other:
            await other.list(PODS, Selection())
    assert credentials.number > 1
    assert len(fake.requests) == 1


async def test_an_authority_that_cannot_be_used_is_an_api_error() -> None:
    connection = Connection("https://localhost:1", StaticCredentials(Credential()), Tls(ca=b"no PEM"))
    async with HttpApi(connection, clock=VirtualClock()) as api:
        with pytest.raises(errors.TransportError, match="authority is not a PEM certificate"):
            await get(api)
        with pytest.raises(errors.TransportError, match="authority is not a PEM certificate"):
            await anext(api.watch(PODS, Selection(), WatchStart()))
        with pytest.raises(errors.TransportError, match="authority is not a PEM certificate"):
            await api.execute(A, "main", ["true"], 10)


async def test_the_last_line_of_a_log_may_have_no_end() -> None:
    async with serving(stream(b"one\ntwo")) as (_, api):
        assert [line async for line in api.lines(RawRequest("/log"))] == [b"one", b"two"]


async def test_no_more_requests_than_allowed_are_under_way_at_once() -> None:
    under_way, most = 0, 0

    async def slow(_: web.Request) -> web.StreamResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await VirtualClock().sleep(1)
        under_way -= 1
        return web.json_response(pod("a", 1))

    async with serving(*[slow] * 20, limits=Limits(concurrency=4)) as (_, api):
        await asyncio.gather(*(get(api) for _ in range(20)))
    assert most == 4


@pytest.mark.parametrize(("version", "left"), [("9", True), ("", False)])
async def test_a_deleted_object_is_gone_if_the_answer_has_no_version(version: str, left: bool) -> None:
    """If two clients delete an unscheduled pod at once, one of them gets it back without a version."""
    async with serving(answer(pod("a", version))) as (_, api):
        found = await api.delete(PODS, A, EXACTLY)
    assert (found is not None) is left


async def test_requests_say_what_they_want() -> None:
    deleted = answer(status(200, ""))
    steps = (answer(pod("a", 1)), page(), answer(pod("a", 2)), answer(pod("a", 3)), deleted, answer({}), answer({}))
    async with serving(*steps) as (fake, api):
        await api.get(SECRETS, A)
        await api.list(PODS, Selection("ns", "a in (b,c)", "metadata.name=x"), ListOptions(7, resource_version="0"))
        await api.apply(STATEFUL_SETS, A, MANIFEST, ApplyOptions("us", force=True, dry_run=True))
        await api.patch(PODS, A, {"status": {}}, kind=PatchKind.MERGE, subresource="status")
        assert await api.delete(PODS, A, EXACTLY) is None
        await api.evict(A, EXACTLY)
        await api.request(RawRequest("/api/v1/namespaces/ns/pods/a/log", query={"tailLines": "5"}))
        lines = [f"{request.method} {request.path_qs}" for request in fake.requests]
        kinds = [request.headers.get("Content-Type", "") for request in fake.requests]
        accepted = fake.requests[0].headers["Accept"]
    assert lines[0] == "GET /api/v1/namespaces/ns/secrets/a"
    assert accepted == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert fake.requests[1].query == {
        "labelSelector": "a in (b,c)",
        "fieldSelector": "metadata.name=x",
        "limit": "7",
        "resourceVersion": "0",
    }
    assert lines[2] == "PATCH /apis/apps/v1/namespaces/ns/statefulsets/a?fieldManager=us&force=true&dryRun=All"
    assert kinds[2] == "application/apply-patch+yaml"
    assert (lines[3], kinds[3]) == ("PATCH /api/v1/namespaces/ns/pods/a/status", "application/merge-patch+json")
    assert b'"preconditions":{"uid":"uid-a","resourceVersion":"7"}' in fake.bodies[4]
    assert b'"gracePeriodSeconds":0' in fake.bodies[4]
    assert lines[5] == "POST /api/v1/namespaces/ns/pods/a/eviction"
    assert b'"uid":"uid-a"' in fake.bodies[5]
    assert lines[6] == "GET /api/v1/namespaces/ns/pods/a/log?tailLines=5"


def test_a_namespaced_object_without_a_namespace_has_no_path() -> None:
    with pytest.raises(ValueError, match="lives in a namespace"):
        PODS.path_of(Key("", "a"))
    assert NODES.path_of(Key("", "n")) == "/api/v1/nodes/n"
    assert PODS.path_of(Key("ns", "a?b")) == "/api/v1/namespaces/ns/pods/a%3Fb"


async def test_a_list_with_an_unreadable_object_has_the_others() -> None:
    bad = pod("bad", 3) | {"spec": {"nodeName": 7}}
    worse = {"metadata": {"name": "worse", "labels": 7}}
    async with serving(page(pod("a", 1), bad, worse)) as (_, api):
        found = await api.list(PODS, Selection("ns"))
    assert [item.metadata.name for item in found.items] == ["a"]
    assert [trouble.metadata.name for trouble in found.unreadable] == ["bad", "worse"]
    assert "spec.nodeName" in found.unreadable[0].reason


async def test_a_list_without_options_is_the_whole_list_and_without_items_empty() -> None:
    async with serving(answer({"metadata": {"resourceVersion": "5"}, "items": None})) as (fake, api):
        assert (await api.list(PODS, Selection("ns"))).items == ()
    assert "limit" not in fake.requests[0].query


async def test_a_server_that_cannot_be_reached_is_named_without_python_objects() -> None:
    async with HttpApi(Connection("https://127.0.0.1:1", StaticCredentials(Credential()))) as api:
        with pytest.raises(errors.TransportError, match=r"127\.0\.0\.1:1 \[") as caught:
            await get(api)
    assert "ssl:" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "told"),
    [("Fri, 27 Nov 2026 20:35:25 GMT", [1795811725.0]), ("yesterday", []), ("Fri, 99 Nov 2026 20:35:25 GMT", [])],
)
@pytest.mark.parametrize("code", [200, 404])
async def test_the_date_of_each_answer_is_told(header: str, told: list[float], code: int) -> None:
    dates: list[float] = []
    async with serving(answer(pod("a", 1), code, Date=header), told=dates.append) as (_, api):
        with suppress(errors.ApiError):
            await get(api)
    assert dates == told
