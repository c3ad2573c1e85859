"""A key is never processed twice at once, no request is lost, and none starts early."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from stateward.kube.objects.metadata import Key
from stateward.kube.queue.queue import QueueClosed, WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.backoff import Backoff
from stateward.kube.timing.virtual_time import VirtualClock, VirtualTimeLoop

R = TypeVar("R")
KEYS = st.sampled_from("abc")


class QueueModel(RuleBasedStateMachine):
    """The queue against a model of what is wanted: now, again, or at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self.clock = VirtualClock()
        self.queue: WorkQueue[str] = self.do(self.make())
        self.ready: list[str] = []
        self.processing: set[str] = set()
        self.again: set[str] = set()
        self.due: dict[str, float] = {}

    async def make(self) -> WorkQueue[str]:
        return WorkQueue[str](clock=self.clock)

    def do(self, coroutine: Coroutine[Any, Any, R]) -> R:
        return self.runner.run(coroutine)

    def now(self) -> float:
        return self.do(self.read_clock())

    async def read_clock(self) -> float:
        return self.clock.monotonic()

    def want(self, key: str) -> None:
        self.due.pop(key, None)
        if key in self.processing:
            self.again.add(key)
        elif key not in self.ready:
            self.ready.append(key)

    def come_due(self) -> None:
        now = self.now()
        for key, _ in sorted(self.due.items(), key=lambda item: item[1]):
            if self.due[key] <= now:
                self.want(key)

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        async def add() -> None:
            self.queue.add(key)

        self.do(add())
        self.want(key)

    @rule(key=KEYS, seconds=st.integers(1, 20))
    def add_after(self, key: str, seconds: int) -> None:
        async def add() -> None:
            self.queue.add_after(key, float(seconds))

        self.do(add())
        if key not in self.ready and key not in self.again:
            self.due[key] = min(self.due.get(key, float("inf")), self.now() + seconds)

    @rule(seconds=st.integers(1, 30))
    def let_time_pass(self, seconds: int) -> None:
        self.do(asyncio.sleep(seconds))

    @rule()
    def take(self) -> None:
        async def take() -> str | None:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.001):
                    return await self.queue.get()
            return None

        self.come_due()
        taken = self.do(take())
        if not self.ready:
            assert taken is None
            return
        assert taken in self.ready
        assert taken not in self.processing
        self.ready.remove(taken)
        self.processing.add(taken)

    @precondition(lambda self: self.processing)
    @rule()
    def finish(self) -> None:
        async def finish() -> None:
            self.queue.done(key)

        key = min(self.processing)
        self.do(finish())
        self.processing.discard(key)
        if key in self.again:
            self.again.discard(key)
            self.want(key)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert self.queue.processing == self.processing
        assert set(self.ready) <= {*self.queue._ready, *self.queue._due}

    def teardown(self) -> None:
        self.runner.close()


TestQueueModel = QueueModel.TestCase
TestQueueModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def queue() -> WorkQueue[str]:
    return WorkQueue[str](clock=VirtualClock(), backoff=Backoff(first=1.0, longest=60.0, jitter=0.0))


async def test_keys_come_in_the_order_in_which_they_became_ready() -> None:
    q = queue()
    for key in "abca":
        q.add(key)
    assert [await q.get(), await q.get(), await q.get()] == ["a", "b", "c"]


async def test_a_key_added_while_it_is_worked_on_comes_again_at_the_end_of_the_line() -> None:
    q = queue()
    q.add("a")
    assert await q.get() == "a"
    q.add("a")
    q.add("b")
    assert len(q) == 1
    q.done("a")
    assert [await q.get(), await q.get()] == ["b", "a"]


async def test_the_earliest_of_several_requests_wins() -> None:
    q = queue()
    for seconds in (50, 10, 30):
        q.add_after("a", seconds)
    assert await q.get() == "a"
    assert VirtualClock().monotonic() == pytest.approx(10)
    q.done("a")
    await asyncio.sleep(100)
    assert len(q) == 0
    assert q.delayed == 0


async def test_an_immediate_request_makes_a_delayed_one_superfluous() -> None:
    q = queue()
    q.add_after("a", 5)
    q.add("a")
    assert await q.get() == "a"
    q.done("a")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await q.get()


async def test_delays_grow_with_failures_and_start_again_after_success() -> None:
    q = queue()
    assert [q.add_failed("a") for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    q.forget("a")
    assert q.add_failed("a") == 1


async def test_overtaken_requests_do_not_pile_up() -> None:
    q = queue()
    for _ in range(1000):
        q.add_after("a", 10_000)
        q.add("a")
        q.done(await q.get())
    assert len(q._heap) < 200


async def test_a_closed_queue_returns_no_key_and_waits_for_work_in_progress() -> None:
    q = queue()
    q.add("a")
    q.add("b")
    await q.get()
    q.close()
    with pytest.raises(QueueClosed):
        await q.get()
    waiting = asyncio.create_task(q.wait_idle())
    await asyncio.sleep(1)
    assert not waiting.done()
    q.done("a")
    await waiting


async def test_one_bad_key_does_not_delay_the_others() -> None:
    q = queue()
    done: list[str] = []

    async def reconcile(key: str) -> None:
        if key == "bad":
            raise RuntimeError("broken cluster")
        if key == "slow":
            await asyncio.sleep(10_000)
        done.append(key)

    workers = Workers(q, reconcile, count=2, limit=100.0, clock=VirtualClock())
    task = asyncio.create_task(workers.run())
    for key in ("bad", "slow", "a", "b", "c"):
        q.add(key)
    await asyncio.sleep(1)
    assert done == ["a", "b", "c"]
    assert q.failures("bad") >= 1
    await asyncio.sleep(150)
    assert q.failures("slow") == 1
    assert await workers.stop(grace=1000.0)
    await task


async def test_a_result_says_when_to_look_again() -> None:
    q = queue()
    times: list[float] = []

    async def reconcile(_: str) -> float:
        times.append(VirtualClock().monotonic())
        return 30.0

    workers = Workers(q, reconcile, count=3, clock=VirtualClock())
    task = asyncio.create_task(workers.run())
    q.add("a")
    await asyncio.sleep(100)
    assert times == pytest.approx([0, 30, 60, 90])
    await workers.stop(grace=1.0)
    await task


async def test_two_workers_never_process_the_same_key() -> None:
    q = queue()
    in_hand: set[str] = set()

    async def reconcile(key: str) -> None:
        assert key not in in_hand
        in_hand.add(key)
        await asyncio.sleep(0.5)
        in_hand.discard(key)

    workers = Workers(q, reconcile, count=5, clock=VirtualClock())
    task = asyncio.create_task(workers.run())
    for _ in range(200):
        for key in "abc":
            q.add(key)
        await asyncio.sleep(0.1)
    assert q.failures("a") == q.failures("b") == q.failures("c") == 0
    assert await workers.stop(grace=10.0)
    await task


async def test_stopping_gives_up_on_work_that_outlasts_the_grace() -> None:
    q = queue()

    async def reconcile(_: str) -> None:
        await asyncio.sleep(500)

    workers = Workers(q, reconcile, clock=VirtualClock(), limit=1000.0)
    task = asyncio.create_task(workers.run())
    q.add("a")
    await asyncio.sleep(1)
    assert not await workers.stop(grace=5.0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


class Told:
    """The observer of failures; its own errors have no effect."""

    def __init__(self, error: Exception | None = None) -> None:
        self.heard: list[tuple[str, int]] = []
        self._error = error

    async def failed(self, key: str, failures: int, error: Exception) -> None:
        self.heard.append((f"{key} {error}", failures))
        if self._error is not None:
            raise self._error

    async def recovered(self, key: str) -> None:
        self.heard.append((key, 0))


@pytest.mark.parametrize("trouble", [None, RuntimeError("it cannot be told")])
async def test_repeated_failures_and_their_end_are_reported(trouble: Exception | None) -> None:
    q, told, left = queue(), Told(trouble), [3]

    async def reconcile(key: str) -> None:
        if key == "bad" and left[0]:
            left[0] -= 1
            raise RuntimeError("broken")

    workers = Workers(q, reconcile, clock=VirtualClock())
    workers.tell(told)
    task = asyncio.create_task(workers.run())
    q.add("good")
    q.add("bad")
    await asyncio.sleep(1_000)
    assert told.heard == [("bad broken", 2), ("bad broken", 3), ("bad", 0)]
    await workers.stop(grace=1.0)
    await task


async def test_a_namespace_whose_work_is_slow_holds_up_no_other() -> None:
    """Its 200 objects took every worker again and again: one of another tenant waited for a quarter of an hour."""
    clock, began = VirtualClock(), dict[Key, float]()
    q = WorkQueue[Key](clock=clock)

    async def reconcile(key: Key) -> float:
        began.setdefault(key, clock.monotonic())
        await clock.sleep(15.0)
        return 15.0

    workers = Workers(q, reconcile, count=4, clock=clock)
    task = asyncio.create_task(workers.run())
    slow, others = [Key("slow", str(i)) for i in range(200)], [Key("b", "1"), Key("c", "1"), Key("b", "2")]
    for key in slow:
        q.add(key)
    await asyncio.sleep(1.0)
    for key in others:
        q.add(key)
    await asyncio.sleep(2_000.0)
    assert max(began[key] for key in others) - began[slow[0]] <= 30.0
    assert [began[key] for key in slow] == sorted(began[key] for key in slow), "each in its turn"
    assert len(began) == 203
    assert await workers.stop(grace=20.0)
    await task


async def test_with_one_worker_namespaces_take_turns() -> None:
    """The disaster: a tenant has a thousand keys ready, and the one of another tenant comes after all of them."""
    queue = WorkQueue[Key](clock=VirtualClock())
    for number in range(100):
        queue.add(Key("loud", f"a-{number}"))
    queue.add(Key("quiet", "b"))
    taken = list[str]()
    for _ in range(20):
        key = await queue.get()
        taken.append(key.namespace)
        queue.add(key)  # It has work again at once, and holds up the first one no more than that one holds it up.
        queue.done(key)
    assert taken == ["loud", "quiet"] * 10
