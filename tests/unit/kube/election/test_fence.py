"""A write under a lease ends before the lease does, even if it waits."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest

from stateward.kube.client.client import ApplyOptions, DeleteOptions, PatchKind, Preconditions, RawRequest, WatchStart
from stateward.kube.client.http_client import HttpApi
from stateward.kube.client.transport import Limits
from stateward.kube.election.fence import FencedApi, LostLease, unfenced
from stateward.kube.election.lease import LeaderElection
from stateward.kube.objects.errors import ApiError, Conflict, TransportError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import PODS
from stateward.kube.timing.virtual_time import VirtualClock
from tests.unit.kube.fake_server import Step, answer, event, page, pod, serving, status, stream
from tests.unit.kube.memory_api import MemoryApi

KEY, MARGIN = Key("ns", "stateward"), 5.0
A = Key("ns", "a")
EXACTLY = DeleteOptions(Preconditions("uid-a", "7"))
THROTTLED = answer(status(429, "TooManyRequests"), 429, Retry_After="4")


def now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def campaigning(api: MemoryApi, name: str) -> AsyncGenerator[LeaderElection]:
    election = LeaderElection(api, KEY, name, clock=VirtualClock(), rng=random.Random(name))  # noqa: S311
    task = asyncio.create_task(election.run(lambda: None), name=name)
    try:
        yield election
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def leading() -> AsyncGenerator[tuple[MemoryApi, LeaderElection]]:
    api = MemoryApi()
    async with campaigning(api, "a") as election:
        await election.wait_elected()
        await asyncio.sleep(7)
        yield api, election


async def write(election: LeaderElection, seconds: float, error: Exception | None = None) -> None:
    """Write something that takes so long, and may fail."""
    async with election.fence(MARGIN):
        await asyncio.sleep(seconds)
        if error is not None:
            raise error


def cut_off(api: MemoryApi) -> None:
    api.before = lambda _verb, _key: TransportError("the network is down")


async def test_nothing_begins_that_could_outlast_the_lease() -> None:
    async with leading() as (api, election):
        await write(election, 0.0)
        cut_off(api)
        await asyncio.sleep(election.remaining - MARGIN)
        with pytest.raises(LostLease):
            await write(election, 0.0)


async def test_what_takes_long_continues_while_the_lease_is_renewed() -> None:
    async with leading() as (_, election):
        await write(election, 100)


async def test_what_takes_long_is_cut_off_its_margin_before_the_lease_would_end() -> None:
    """So long it may still take on the server, and only then another process leads."""
    async with leading() as (api, a):
        began = now()
        cut: list[float] = []
        writing = asyncio.create_task(write(a, 1000))
        writing.add_done_callback(lambda _: cut.append(now()))
        await asyncio.sleep(0.1)
        ends = now() + a.remaining
        a._api = dead = MemoryApi()
        cut_off(dead)
        async with campaigning(api, "b") as b:
            await b.wait_elected()
            assert cut == [pytest.approx(ends - MARGIN)]
            assert now() >= cut[0] + MARGIN
            assert cut[0] > began
        assert isinstance(writing.exception(), LostLease)


async def test_what_is_under_way_ends_when_another_process_holds_the_lease() -> None:
    async with leading() as (api, election):
        began = now()
        spec = api.objects["leases", KEY]["spec"]
        api.objects["leases", KEY]["spec"] = {**spec, "holderIdentity": "somebody"}
        with pytest.raises(LostLease):
            await write(election, 1000)
        assert now() - began < 3.0


async def test_a_time_out_of_its_own_is_no_lost_lease() -> None:
    async with leading() as (_, election):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(write(election, 10), 1)
        with pytest.raises(TimeoutError, match="its own"):
            await write(election, 1, TimeoutError("its own"))


async def test_two_that_write_at_once_are_both_cut_off() -> None:
    async with leading() as (api, election):
        writing = [asyncio.create_task(write(election, 1000)) for _ in range(2)]
        await asyncio.sleep(0.1)
        cut_off(api)
        done = await asyncio.gather(*writing, return_exceptions=True)
        assert [type(error) for error in done] == [LostLease, LostLease]


@pytest.mark.parametrize("writer_first", [True, False])
async def test_a_lease_is_not_released_under_a_write_that_is_broken_off(*, writer_first: bool) -> None:
    """The server may have it, and carry it out when another process leads."""
    async with leading() as (api, election):
        (running,) = (task for task in asyncio.all_tasks() if task.get_name() == "a")
        writing = asyncio.create_task(write(election, 1000))
        await asyncio.sleep(0.1)
        for task in (writing, running) if writer_first else (running, writing):
            task.cancel()
        ends = now() + election.remaining
        async with campaigning(api, "b") as b:
            await b.wait_elected()
            assert now() >= ends - 0.1


UNKNOWN = TransportError("no answer", may_have_committed=True)


@pytest.mark.parametrize(
    ("error", "waited", "released"),
    [
        (None, 0.0, True),
        (Conflict("it has changed"), 0.0, True),
        (UNKNOWN, 0.0, False),
        (UNKNOWN, MARGIN - 0.1, False),
        (UNKNOWN, MARGIN + 0.1, True),
    ],
)
async def test_a_lease_is_released_when_the_server_has_done_or_dropped_all_writes(
    error: Exception | None, waited: float, *, released: bool
) -> None:
    async with leading() as (api, election):
        with suppress(ApiError):
            await write(election, 0.1, error)
        await asyncio.sleep(waited)
    assert bool(api.objects["leases", KEY]["spec"].get("holderIdentity")) is not released


async def test_a_process_without_rivals_writes_whenever_it_likes() -> None:
    async with unfenced():
        await asyncio.sleep(100)


@pytest.mark.parametrize(
    ("steps", "occupied", "sent"),
    [
        ([THROTTLED] * 20, False, 3),
        ([stream(hold=28.0)], True, 0),
        ([stream(hold=1000.0)], False, 1),
    ],
    ids=["while the server throttles", "while it waits for a place", "while it waits for the answer"],
)
async def test_a_delete_is_given_up_and_never_sent_later(steps: list[Step], *, occupied: bool, sent: int) -> None:
    """It may wait for as long as a minute: for a place, for a server that throttles, and for its answer."""
    async with serving(*steps, limits=Limits(concurrency=1)) as (fake, api), leading() as (leases, election):
        other = asyncio.create_task(read(api) if occupied else asyncio.sleep(0))
        await asyncio.sleep(0.1)
        cut_off(leases)
        ends = now() + election.remaining
        with pytest.raises(LostLease):
            await delete(api, election)
        assert now() <= ends - MARGIN + 0.1
        await asyncio.sleep(120)
        assert [request.method for request in fake.requests].count("DELETE") == sent
        await other


async def delete(api: HttpApi, election: LeaderElection) -> None:
    async with election.fence(MARGIN):
        await api.delete(PODS, A, EXACTLY)


async def read(api: HttpApi) -> None:
    """Take a place for as long as the server holds the answer back."""
    with suppress(ApiError):
        await api.get(PODS, A)


WRITES: dict[str, Callable[[FencedApi], Awaitable[object]]] = {
    "create": lambda api: api.create(PODS, {"metadata": {"name": "a"}}, namespace="ns"),
    "apply": lambda api: api.apply(PODS, A, {"metadata": {"name": "a"}}, ApplyOptions("us")),
    "patch": lambda api: api.patch(PODS, A, {}, kind=PatchKind.MERGE),
    "delete": lambda api: api.delete(PODS, A, EXACTLY),
    "evict": lambda api: api.evict(A, EXACTLY),
    "request": lambda api: api.request(RawRequest("/", "POST")),
}


@pytest.mark.parametrize("verb", WRITES)
async def test_no_write_reaches_a_server_through_a_fence_that_is_closed(verb: str) -> None:
    def closed() -> AbstractAsyncContextManager[None]:
        raise LostLease

    async with serving() as (fake, api):
        with pytest.raises(LostLease):
            await WRITES[verb](FencedApi(api, closed))
        assert fake.requests == []
        with pytest.raises(ApiError):  # The script is over: that is an answer.
            await WRITES[verb](FencedApi(api, unfenced))
        assert len(fake.requests) == 1


async def test_what_is_read_is_not_fenced() -> None:
    def closed() -> AbstractAsyncContextManager[None]:
        raise LostLease

    listed, version = page(pod("a", 1)), answer({"major": "1"})
    async with serving(answer(pod("a", 1)), listed, version, stream(event("ADDED", pod("a", 1)))) as (fake, raw):
        api = FencedApi(raw, closed)
        assert (await api.get(PODS, A)).metadata.name == "a"
        assert len((await api.list(PODS, Selection("ns"))).items) == 1
        assert b"major" in await api.request(RawRequest("/version"))
        assert [type(seen) async for seen in api.watch(PODS, Selection("ns"), WatchStart())]
        assert len(fake.requests) == 4
