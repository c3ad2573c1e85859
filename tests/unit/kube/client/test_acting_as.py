"""Each request on behalf of a user carries the impersonation headers; other requests carry none."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing, nullcontext, suppress
from typing import Any

import pytest

from stateward.kube.client.client import (
    Api,
    ApplyOptions,
    DeleteOptions,
    PatchKind,
    Preconditions,
    RawRequest,
    WatchStart,
)
from stateward.kube.election.fence import FencedApi
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import PODS
from tests.unit.kube.client.test_execute import DONE, writing
from tests.unit.kube.fake_server import answer, page, pod, serving, status, stream

A, USER = Key("ns", "a"), "system:serviceaccount:ns:builder"
HEADERS = ("Impersonate-User", "Impersonate-Group", "Impersonate-Uid")
EXACTLY = DeleteOptions(Preconditions("uid-a", "7"))
BODY = {"metadata": {"name": "a"}}
Call = Callable[[Any], Awaitable[Any]]


async def followed(api: Api) -> None:
    async with aclosing(api.watch(PODS, Selection("ns"), WatchStart())) as events:
        async for _ in events:
            pass


CALLS: dict[str, tuple[Any, Call]] = {
    "get": (answer(pod("a", 1)), lambda api: api.get(PODS, A)),
    "list": (page(pod("a", 1)), lambda api: api.list(PODS, Selection("ns"))),
    "watch": (stream(), followed),
    "create": (answer(pod("a", 1)), lambda api: api.create(PODS, BODY, namespace="ns")),
    "apply": (answer(pod("a", 1)), lambda api: api.apply(PODS, A, BODY, ApplyOptions("us"))),
    "patch": (answer(pod("a", 1)), lambda api: api.patch(PODS, A, BODY, kind=PatchKind.MERGE)),
    "delete": (answer(pod("a", 1)), lambda api: api.delete(PODS, A, EXACTLY)),
    "evict": (answer({}), lambda api: api.evict(A, EXACTLY)),
    "request": (answer({}), lambda api: api.request(RawRequest("/version"))),
}


@pytest.mark.parametrize("fenced", [False, True])
@pytest.mark.parametrize("verb", CALLS)
async def test_every_request_says_on_whose_behalf_it_is_made(verb: str, *, fenced: bool) -> None:
    step, call = CALLS[verb]
    async with serving(step, step) as (fake, http):
        api: Api = FencedApi(http, nullcontext) if fenced else http
        await call(api.acting_as(USER))
        await call(api)
    sent = [[request.headers.getall(name, []) for name in HEADERS] for request in fake.requests]
    assert sent == [[[USER], [], []], [[], [], []]]


async def test_a_command_in_a_container_is_run_on_that_behalf() -> None:
    done = writing(b"\3" + DONE)
    async with serving(done, done) as (fake, api):
        await api.acting_as(USER).execute(A, "c", ["true"], 10)
        await api.execute(A, "c", ["true"], 10)
    assert [request.headers.get("Impersonate-User") for request in fake.requests] == [USER, None]


async def test_what_is_tried_again_is_tried_on_the_same_behalf() -> None:
    """After a 429, and with new credentials after a 401."""
    steps = (answer(status(429, "TooManyRequests"), 429, Retry_After="1"), answer(status(401, "Unauthorized"), 401))
    async with serving(*steps, answer(pod("a", 1))) as (fake, api):
        with suppress(ApiError):
            await api.acting_as(USER).get(PODS, A)
    assert [request.headers.get("Impersonate-User") for request in fake.requests] == [USER] * 3


async def test_two_that_are_acted_for_do_not_mix_and_use_the_same_connections() -> None:
    async with serving(*[answer(pod("a", 1))] * 3) as (fake, api):
        first, second = api.acting_as("one"), api.acting_as("two")
        await first.get(PODS, A)
        await second.get(PODS, A)
        await first.acting_as("three").get(PODS, A)
    assert [request.headers.get("Impersonate-User") for request in fake.requests] == ["one", "two", "three"]
