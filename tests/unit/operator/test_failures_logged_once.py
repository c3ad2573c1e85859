"""A round that fails is one line of the log, whatever it is about, also if a listener hears of the failure.

A second line of the same failure looks like a second failure, to people and to alerts on logs.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from stateward.engines.connection.base import EngineError
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, Status, TransportError, error_for
from stateward.kube.queue.queue import WorkQueue
from stateward.kube.queue.workers import Workers
from stateward.kube.timing.virtual_time import VirtualClock, VirtualTimeLoop
from stateward.operator.assembly import Operator
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.runtime.options import OperatorOptions
from stateward.planning.model.observation import Database, Health
from stateward.planning.model.security import Protection
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.cluster.context import SimulationContext
from tests.support.requests import refuse
from tests.unit.operator import test_process as process
from tests.unit.operator.declared.world import World as DeclaredWorld
from tests.unit.operator.installations.world import World as InstallationWorld

LONG = 600.0
"""Seconds of failing rounds: enough for each of them to be told in the status, and as an event."""
REFUSED = error_for(Status(kind="Status", code=403, reason="Forbidden", message="exceeded quota"))
UNREACHED = TransportError("no route to the API server")
ERRORS = pytest.mark.parametrize("error", [RuntimeError("hunter2"), UNREACHED, EngineError("no answer")])
Line = dict[str, Any]


@pytest.fixture
def failed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the keys of the rounds that have failed, from all queues."""
    found, plain = list[str](), WorkQueue[Any].add_failed

    def add_failed(self: WorkQueue[Any], key: Any) -> float:
        found.append(str(key))
        return plain(self, key)

    monkeypatch.setattr(WorkQueue, "add_failed", add_failed)
    return found


def broken(error: Exception) -> Callable[..., Any]:
    """Return a part that always fails."""

    def call(*_: object, **__: object) -> Any:
        raise error

    return call


def broken_later(error: Exception) -> Callable[..., Awaitable[Any]]:
    """Return the same as a coroutine function."""

    async def call(*_: object, **__: object) -> Any:
        raise error

    return call


def lines(work: Callable[[], Coroutine[Any, Any, None]]) -> list[Line]:
    """Return the log of some work in virtual time, but for what is no trouble."""
    with capture_logs() as found, asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(work())
    return [dict(line) for line in found if line["log_level"] not in {"debug", "info"}]


def check(found: list[Line], failed: list[str], error: Exception) -> None:
    """Check that there is one line for each failure, with the key, the error and the time of the next attempt."""
    assert len(failed) > 3, "it is tried again and again"
    assert len(set(failed)) == 1
    words = f"{type(error).__name__}: {error}"
    assert [(line["event"], line["key"], line["error"]) for line in found] == [
        ("reconciliation failed", key, words) for key in failed
    ]
    assert all(line["retry_in"] > 0 for line in found)
    assert all((line["exc_info"] is None) is isinstance(error, ApiError) for line in found)


class Stored(WorldApi):
    """The API server of one operator that manages clusters."""

    async def cluster(self) -> None:
        for name in ("data", "stateward"):
            await self.create(kinds.NAMESPACES, {"metadata": {"name": name}})
        api: Any = self
        await process.stored(api)


def server() -> Stored:
    context = SimulationContext(1, asyncio.get_running_loop())
    return Stored(context.server, ChangeSignal(context.store), Network(context.stream("network"), context.count), "a")


@asynccontextmanager
async def operator(api: Stored, engine: Any) -> AsyncGenerator[Operator]:
    """Have an operator of clusters at work."""
    options = OperatorOptions(leader_elect=False, lease_namespace="stateward", identity="a")
    made = Operator(api, (OpenSearchFamily(engine),), options, clock=VirtualClock())
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@ERRORS
def test_a_failing_round_of_a_cluster_is_one_line(failed: list[str], error: Exception) -> None:
    async def work() -> None:
        api = server()
        await api.cluster()
        async with operator(api, SimpleNamespace(observe=broken_later(error))):
            await asyncio.sleep(LONG)

    check(lines(work), failed, error)


def test_a_step_of_a_cluster_that_fails_is_one_line_too(failed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The status of such a round is written before the error comes to the queue."""

    def refused(kind: str, _: Any) -> ApiError | None:
        return REFUSED if kind == "apps/statefulsets" else None

    refuse(monkeypatch, refused)

    async def work() -> None:
        api = server()
        await api.cluster()
        async with operator(api, process.Told()):
            await asyncio.sleep(LONG)

    check(lines(work), failed, REFUSED)


@pytest.mark.parametrize("error", [UNREACHED, EngineError("no answer")])
def test_an_administrator_that_is_not_created_is_a_line_of_the_queue_alone(error: Exception) -> None:
    """The error is held until the end of the round, and then raised."""

    async def work() -> None:
        async with operator(server(), process.Told()) as made:
            one = process.reconciler(made)
            one._keeper = SimpleNamespace(administrator=broken_later(error))  # type: ignore[assignment]
            secured = Database(identity="i", health=Health.GREEN, nodes={}, secured=True)
            observed = SimpleNamespace(protection=Protection(enabled=True), database=secured)
            turn: Any = SimpleNamespace(observed=observed, existing=process.existing())
            assert await one._administrator_created(turn) == (turn, error)

    assert lines(work) == []


@ERRORS
def test_a_failing_round_of_an_installation_is_one_line(
    failed: list[str], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        world = InstallationWorld()
        world.package("shop-1")
        world.install("shop-1")
        async with world.operator():
            await world.until(world.ready)
            monkeypatch.setattr("stateward.operator.installations.reconcile.decide", broken(error))
            world.install("shop-1", COUNT="3")
            await world.until(lambda: world.condition("Stalled").get("reason") == "ReconciliationFailing")
            await asyncio.sleep(LONG)

    check(lines(work), failed, error)


@ERRORS
def test_a_failing_round_of_a_declared_object_is_one_line(
    failed: list[str], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        world = DeclaredWorld()
        world.template()
        async with world.operator():
            await world.until(world.is_ready)
            monkeypatch.setattr(world, "cluster", broken(error))
            world.template(body={"index_patterns": ["other-*"]})
            await asyncio.sleep(LONG)

    check(lines(work), failed, error)


@dataclass
class Heard:
    """A listener that counts failures; perhaps it fails itself."""

    trouble: Exception | None = None
    told: list[int] = field(default_factory=list[int])

    async def failed(self, key: str, failures: int, error: Exception) -> None:
        self.told.append(failures)
        if self.trouble is not None:
            raise self.trouble

    async def recovered(self, key: str) -> None:
        raise AssertionError


@pytest.mark.parametrize("error", [RuntimeError("hunter2"), REFUSED, UNREACHED, TimeoutError()])
@pytest.mark.parametrize("trouble", [None, UNREACHED])
def test_a_listener_of_failures_adds_no_line_of_the_same_failure(
    failed: list[str], error: Exception, trouble: Exception | None
) -> None:
    """Only its own failure is logged, as what it is."""
    heard = Heard(trouble)

    async def work() -> None:
        queue = WorkQueue[str](clock=VirtualClock())
        workers = Workers(queue, broken_later(error), clock=VirtualClock())
        workers.tell(heard)
        queue.add("a")
        working = asyncio.create_task(workers.run())
        await asyncio.sleep(LONG)
        await workers.stop(1.0)
        await working

    found = [line["event"] for line in lines(work)]
    assert found.count("reconciliation failed") == len(failed) > 3
    assert heard.told == list(range(2, len(failed) + 1))
    others = [event for event in found if event != "reconciliation failed"]
    assert others == ([] if trouble is None else ["the failure could not be reported"] * len(heard.told))
