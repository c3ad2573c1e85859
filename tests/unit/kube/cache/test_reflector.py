"""A store fed by a reflector equals the server's state, whatever the connection does."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import web

from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import FreshStart
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import PODS
from stateward.kube.timing.virtual_time import VirtualClock
from tests.unit.kube.fake_server import FakeServer, Step, answer, bookmark, event, page, pod, serving, status, stream

FOREVER = 100_000.0


@asynccontextmanager
async def reflecting(api: HttpApi, namespace: str = "") -> AsyncGenerator[tuple[Store[Pod], Reflector[Pod]]]:
    store = Store[Pod]("pods", namespaces=(namespace,))
    chosen = Selection(namespace, labels="app=x")
    reflector = Reflector(api, PODS, chosen, store, ReflectorOptions(clock=VirtualClock()))
    task = asyncio.create_task(reflector.run())
    try:
        yield store, reflector
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def names(store: Store[Pod]) -> list[str]:
    return sorted(pod.metadata.name for pod in store.all())


async def test_streams_the_initial_state_and_then_the_changes() -> None:
    steps = stream(
        event("ADDED", pod("a", 1)),
        event("ADDED", pod("b", 2)),
        bookmark(5, initial_end=True),
        event("DELETED", pod("a", 6)),
        hold=FOREVER,
    )
    async with serving(steps) as (fake, api), reflecting(api) as (store, _):
        await store.wait_synced()
        await asyncio.sleep(1)
        assert names(store) == ["b"]
        assert store.version() == "6"
        assert fake.requests[0].query["sendInitialEvents"] == "true"
        assert fake.requests[0].query["labelSelector"] == "app=x"


async def test_keeps_no_second_copy_of_the_initial_state() -> None:
    script = stream(
        event("ADDED", pod("a", 1)), bookmark(5, initial_end=True), event("MODIFIED", pod("a", 6)), hold=FOREVER
    )
    async with serving(script) as (_, api), reflecting(api) as (store, _):
        await store.wait_synced()
        first = store.get(Key("ns", "a"))
        await asyncio.sleep(1)
        assert store.get(Key("ns", "a")) is not first
        # This frame, and the call that asks.
        assert sys.getrefcount(first) <= 2


async def test_is_not_synced_before_the_initial_state_is_complete() -> None:
    async with serving(stream(event("ADDED", pod("a", 1)), hold=50)) as (_, api), reflecting(api) as (store, _):
        await asyncio.sleep(10)
        assert not store.has_synced
        assert len(store) == 0


REFUSED = answer(status(422, "Invalid", "sendInitialEvents is forbidden"), 422)


async def test_reads_pages_where_the_server_cannot_stream_the_state() -> None:
    script = (REFUSED, page(pod("a", 1), version=9, token="more"), page(pod("b", 2), version=9), stream(hold=FOREVER))
    async with serving(*script) as (fake, api), reflecting(api) as (store, _):
        await store.wait_synced()
        await asyncio.sleep(1)
        assert names(store) == ["a", "b"]
        assert fake.requests[2].query["continue"] == "more"
        assert fake.requests[3].query["resourceVersion"] == "9"


async def test_reads_the_list_in_one_piece_when_its_pages_expire() -> None:
    expired = answer(status(410, "Expired", "too old"), 410)
    script = (REFUSED, page(pod("a", 1), token="more"), expired, page(pod("a", 1), pod("b", 2)), stream(hold=FOREVER))
    async with serving(*script) as (fake, api), reflecting(api) as (store, _):
        await store.wait_synced()
        assert names(store) == ["a", "b"]
        assert "limit" not in fake.requests[3].query


async def after_break(*broken: Step, versions: Sequence[Step] = ()) -> tuple[list[str], list[str], list[str]]:
    """Start with pods a and b, then go through `broken`; returns names, request versions and the deltas."""
    start = stream(event("ADDED", pod("a", 1)), event("ADDED", pod("b", 2)), bookmark(5, initial_end=True))
    async with serving(start, *broken, versions=versions) as (fake, api), reflecting(api) as (store, _):
        deltas: list[str] = []
        store.subscribe(lambda delta: deltas.append(f"{delta.change.value} {delta.key.name}"))
        await store.wait_synced()
        await asyncio.sleep(400)
        return names(store), [request.query.get("resourceVersion", "") for request in fake.requests], deltas


async def test_takes_up_an_ended_stream_where_it_stopped() -> None:
    found, versions, _ = await after_break(stream(event("ADDED", pod("c", 7))), stream(hold=FOREVER))
    assert found == ["a", "b", "c"]
    assert versions[:3] == ["", "5", "7"]


RELIST = stream(event("ADDED", pod("b", 2)), event("ADDED", pod("d", 8)), bookmark(9, initial_end=True), hold=FOREVER)


async def test_reads_the_state_again_after_410_as_status_and_reports_what_was_deleted_meanwhile() -> None:
    found, versions, deltas = await after_break(answer(status(410, "Expired"), 410), RELIST)
    assert found == ["b", "d"]
    assert versions[:3] == ["", "5", ""]
    assert deltas == ["added a", "added b", "added d", "removed a"]


async def test_reads_the_state_again_after_410_in_the_stream() -> None:
    gone = stream(event("ERROR", status(410, "Expired", "too old resource version")), hold=FOREVER)
    found, versions, _ = await after_break(gone, RELIST)
    assert found == ["b", "d"]
    assert versions[:3] == ["", "5", ""]


async def test_a_line_torn_over_chunks_is_one_event() -> None:
    line = event("ADDED", pod("c", 7))
    found, versions, _ = await after_break(stream(line[:10], line[10:50], line[50:], hold=FOREVER))
    assert found == ["a", "b", "c"]
    assert versions[:2] == ["", "5"]


async def test_a_reset_in_the_middle_of_a_line_loses_nothing() -> None:
    line = event("ADDED", pod("c", 7))
    found, versions, _ = await after_break(stream(line[:30], reset=True), stream(line, hold=FOREVER))
    assert found == ["a", "b", "c"]
    assert versions[:3] == ["", "5", "5"]


async def test_a_stream_that_ends_in_the_middle_of_a_line_loses_nothing() -> None:
    line = event("ADDED", pod("c", 7))
    found, versions, _ = await after_break(stream(line[:30]), stream(line, hold=FOREVER))
    assert found == ["a", "b", "c"]
    assert versions[:3] == ["", "5", "5"]


async def test_a_silent_watch_is_broken_and_recreated() -> None:
    found, versions, _ = await after_break(stream(hold=FOREVER), stream(event("ADDED", pod("c", 7)), hold=FOREVER))
    assert found == ["a", "b", "c"]
    assert versions[:3] == ["", "5", "5"]


async def test_a_silent_watch_of_a_server_whose_version_cannot_be_read_is_recreated() -> None:
    unavailable = answer(status(503, "ServiceUnavailable"), 503)
    found, versions, _ = await after_break(
        stream(hold=FOREVER), stream(event("ADDED", pod("c", 7)), hold=FOREVER), versions=[unavailable]
    )
    assert found == ["a", "b", "c"]
    assert versions[:3] == ["", "5", "5"]


BEFORE = stream(event("ADDED", pod("a", 900)), event("ADDED", pod("b", 300)), bookmark(1000, initial_end=True))
BROKEN = answer(status(503, "ServiceUnavailable"), 503)
CATCHES_UP = stream(event("MODIFIED", pod("b", 1001)), hold=FOREVER)


async def after_restore(*steps: Step, versions: Sequence[Step] = ()) -> tuple[Store[Pod], FakeServer]:
    """Return a store and the server after the process has ended because the server was restored."""
    async with serving(BEFORE, *steps, versions=versions) as (fake, api):
        store = Store[Pod]("pods")
        reflector = Reflector(api, PODS, Selection(), store, ReflectorOptions(clock=VirtualClock()))
        with pytest.raises(FreshStart, match="it was restored"):
            async with asyncio.timeout(600):
                await reflector.run()
        return store, fake


@pytest.mark.parametrize("broken", [stream(hold=FOREVER), BROKEN, stream(reset=True), stream(bookmark(1000))])
async def test_a_state_from_before_what_was_read_ends_the_process(broken: Step) -> None:
    """After a restore of etcd, a watch from a version that is in its future gets only what comes after that one.

    A cluster that writes much reaches that version in seconds, and then the watch goes on as if nothing was lost.
    """
    store, fake = await after_restore(broken, CATCHES_UP, versions=[page(pod("b", 400), version=500)])
    assert [request.query["limit"] for request in fake.compared] == ["1"]
    assert names(store) == ["a", "b"]
    assert store.version() == "1000"


async def test_a_restored_server_is_noticed_though_its_version_cannot_be_read_at_first() -> None:
    restored = page(pod("b", 400), version=500)
    _, fake = await after_restore(*[BROKEN] * 9, versions=[*[BROKEN] * 5, restored])
    assert len(fake.compared) == 6


GONE = answer(status(410, "Expired"), 410)


@pytest.mark.parametrize(
    "shown",
    [pytest.param(pod("a", 700), id="an older version"), pytest.param(pod("a", 700, uid="uid-2"), id="a predecessor")],
)
async def test_a_state_that_forgets_a_change_ends_the_process(shown: dict[str, Any]) -> None:
    """`etcdutl snapshot restore --bump-revision` counts on far above, and the objects keep their versions."""
    await after_restore(GONE, stream(event("ADDED", shown), bookmark(10**9, initial_end=True), hold=FOREVER))


@pytest.mark.parametrize("permanent", [False, True])
async def test_a_state_that_has_an_object_again_whose_end_was_seen_ends_the_process(permanent: bool) -> None:
    back = stream(event("ADDED", pod("b", 300)), bookmark(10**9, initial_end=True), hold=FOREVER)
    steps = (stream(event("DELETED", pod("b", 1002)), hold=5), GONE, back)
    async with serving(BEFORE, *steps) as (_, api):
        store = Store[Pod]("pods")

        def delete_it(delta: Delta[Pod]) -> None:
            if permanent and delta.key.name == "b" and delta.new is not None:
                store.deleted(delta.new)

        store.subscribe(delete_it)
        reflector = Reflector(api, PODS, Selection(), store, ReflectorOptions(clock=VirtualClock()))
        with pytest.raises(FreshStart, match="it was restored"):
            async with asyncio.timeout(600):
                await reflector.run()


async def test_a_server_that_lags_behind_the_others_was_not_restored() -> None:
    """Its state is older than what is known, and complete for its version."""
    old = stream(event("ADDED", pod("b", 300)), bookmark(800, initial_end=True), event("ADDED", pod("a", 900)))
    async with serving(BEFORE, GONE, old, stream(hold=FOREVER)) as (fake, api), reflecting(api) as (store, _):
        await asyncio.sleep(60)
        assert names(store) == ["a", "b"]
        assert fake.compared


async def test_a_stream_that_ends_at_its_time_asks_for_no_version() -> None:
    async def whole(request: web.Request) -> web.StreamResponse:
        return await stream(bookmark(1001), hold=float(request.query["timeoutSeconds"]))(request)

    options = ReflectorOptions(clock=VirtualClock(), silence=700.0)
    async with serving(BEFORE, whole, whole, stream(hold=FOREVER)) as (fake, api):
        reflector = Reflector(api, PODS, Selection(), Store[Pod]("pods"), options)
        with suppress(TimeoutError):
            async with asyncio.timeout(1300):
                await reflector.run()
        assert len(fake.requests) == 4
        assert len(fake.compared) == 1, "the first stream ended at once"


async def test_a_quiet_watch_with_bookmarks_asks_for_nothing_else() -> None:
    async def quiet(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for version in range(6, 12):
            await asyncio.sleep(60)
            await response.write(bookmark(version))
        return response

    start = stream(event("ADDED", pod("a", 1)), bookmark(5, initial_end=True))
    async with serving(start, quiet, quiet, stream(hold=FOREVER)) as (fake, api), reflecting(api):
        await asyncio.sleep(800)
        assert len(fake.requests) == 4
        assert all("watch" in request.query for request in fake.requests)


async def test_duplicates_and_older_versions_change_nothing() -> None:
    late = stream(
        event("MODIFIED", pod("a", 8)), event("MODIFIED", pod("a", 7)), event("ADDED", pod("a", 8)), hold=FOREVER
    )
    _, _, deltas = await after_break(late)
    assert deltas == ["added a", "added b", "changed a"]


async def test_an_object_that_cannot_be_read_is_marked_and_stops_nothing() -> None:
    bad = pod("a", 8) | {"spec": {"nodeName": 17}}
    script = stream(event("MODIFIED", bad), event("ADDED", pod("c", 9)), hold=FOREVER)
    start = stream(event("ADDED", pod("a", 1)), bookmark(5, initial_end=True))
    async with serving(start, script) as (_, api), reflecting(api) as (store, _):
        await asyncio.sleep(10)
        assert names(store) == ["a", "c"]
        trouble = store.unreadable[Key("ns", "a")]
        assert "nodeName" in trouble.reason
        assert trouble.metadata.resource_version == "8"


async def test_an_object_of_a_list_that_cannot_be_read_is_not_mistaken_for_deleted() -> None:
    bad = pod("a", 8) | {"spec": {"nodeName": 17}}
    found, _, _ = await after_break(
        answer(status(410, "Expired"), 410),
        stream(event("ADDED", bad), event("ADDED", pod("b", 2)), bookmark(9, initial_end=True), hold=FOREVER),
    )
    assert found == ["a", "b"]


@pytest.mark.parametrize("readable", [True, False])
async def test_an_object_that_ends_before_the_initial_state_is_complete_leaves_no_mark(readable: bool) -> None:
    """A server whose cache is behind sends changes before it marks the end of the initial state."""
    bad = pod("a", 4) | {"spec": {"nodeName": 17}}
    last = pod("a", 5) | ({} if readable else {"spec": {"nodeName": 17}})
    script = stream(event("ADDED", bad), event("DELETED", last), bookmark(9, initial_end=True), hold=FOREVER)
    async with serving(script) as (_, api), reflecting(api) as (store, _):
        await store.wait_synced()
        assert dict(store.unreadable) == {}


async def test_failures_are_waited_out_with_growing_delays_and_can_be_read() -> None:
    forbidden = answer(status(403, "Forbidden", "pods is forbidden"), 403)
    async with serving(*[forbidden] * 1000) as (fake, api), reflecting(api) as (_, reflector):
        await asyncio.sleep(600)
        assert reflector.trouble == "Forbidden: pods is forbidden"
        assert 15 < len(fake.requests) < 60


async def test_a_server_that_ends_every_stream_at_once_causes_no_hot_loop() -> None:
    start = stream(bookmark(5, initial_end=True))
    async with serving(start, *[stream()] * 1000) as (fake, api), reflecting(api):
        await asyncio.sleep(600)
        assert len(fake.requests) < 60


async def test_a_list_that_never_answers_is_given_up_and_tried_again() -> None:
    script = (REFUSED, stream(hold=FOREVER), page(pod("a", 1)), stream(hold=FOREVER))
    async with serving(*script) as (_, api), reflecting(api) as (store, _):
        await asyncio.sleep(60)
        assert names(store) == ["a"]


FORBIDDEN = answer(status(403, "Forbidden", "pods is forbidden"), 403)
ABSENT = answer(status(404, "NotFound", name="ns"), 404)
EXISTS = answer({"metadata": {"name": "ns"}})
FILLED = stream(event("ADDED", pod("a", 7)), bookmark(9, initial_end=True), hold=FOREVER)


@pytest.mark.parametrize("refused", [FORBIDDEN, answer(status(404, "NotFound", name="ns"), 404)])
async def test_a_watch_that_ended_with_its_namespace_counts_as_empty(refused: Step) -> None:
    start = stream(event("ADDED", pod("a", 1)), bookmark(5, initial_end=True))
    async with serving(start, refused, ABSENT) as (fake, api), reflecting(api, "ns") as (store, _):
        await store.wait_synced()
        assert names(store) == ["a"]
        await asyncio.sleep(20)
        assert names(store) == []
        assert fake.requests[2].path == "/api/v1/namespaces/ns"


async def test_a_namespace_that_does_not_exist_at_the_start_counts_as_empty() -> None:
    async with serving(FORBIDDEN, ABSENT) as (_, api), reflecting(api, "ns") as (store, _):
        await asyncio.sleep(5)
        assert store.has_synced


@pytest.mark.parametrize("namespace", [EXISTS, FORBIDDEN, answer(status(503, "ServiceUnavailable"), 503)])
async def test_a_namespace_that_exists_or_may_exist_does_not_count_as_empty(namespace: Step) -> None:
    async with serving(*[FORBIDDEN, namespace] * 20) as (fake, api), reflecting(api, "ns") as (store, _):
        await asyncio.sleep(120)
        assert len(fake.requests) > 4
        assert store.unfilled == ("ns",)


async def test_a_refused_watch_on_everything_asks_for_no_namespace() -> None:
    async with serving(*[FORBIDDEN] * 20) as (fake, api), reflecting(api) as (store, _):
        await asyncio.sleep(60)
        assert {request.path for request in fake.requests} == {"/api/v1/pods"}
        assert store.unfilled == ("",)


async def test_a_namespace_that_exists_again_is_read_by_a_process_without_memory() -> None:
    """Other caches may still hold it as empty, so that a cluster would be known before its volumes."""
    script = (FORBIDDEN, ABSENT, FORBIDDEN, EXISTS, FILLED, FILLED)
    async with serving(*script) as (fake, api):
        store = Store[Pod]("pods", namespaces=("ns",))
        reflector = Reflector(api, PODS, Selection("ns"), store, ReflectorOptions(clock=VirtualClock()))
        with pytest.raises(FreshStart, match="namespace ns exists again"):
            async with asyncio.timeout(600):
                await reflector.run()
        assert names(store) == []
        async with reflecting(api, "ns") as (following, _):
            await following.wait_synced()
            assert names(following) == ["a"]
        assert not fake.steps
