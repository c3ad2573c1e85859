"""The duration of a change is compared with its forecast, across restarts of the operator."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus, ForecastStatus
from stateward.api.values.base import Condition
from stateward.engines.connection.base import GarbledError, Speed
from stateward.forecast.change import Change
from stateward.forecast.durations import Durations
from stateward.kube.objects.metadata import Key
from stateward.operator.clusters.forecast_worker import Begun, Compute, ForecastWorker, Outcome, outcome_of
from stateward.operator.clusters.forecasts import MOST, Forecasts
from stateward.operator.clusters.round import Round
from stateward.operator.databases.engine import Family
from stateward.operator.runtime.metrics import Metrics
from stateward.planning.model.times import rfc3339
from stateward.timeline.history import History
from tests.unit.cli.clusters import NOW, changed, running

KEY = Key("prod", "logs")
START = 1_767_225_600.0
READY = [Condition(type="Ready", status="True", reason="Settled", message="")]
BEGUN = ClusterStatus(forecast=ForecastStatus(start_time=rfc3339(START)))
SETTLED = ClusterStatus(conditions=READY)


class Engine:
    """A database that reports how fast it recovers copies."""

    async def recovery_speed(self, _target: object) -> Speed:
        return Speed(at_once=7)


def target(_existing: object) -> None:
    """Return no address: the engine needs none."""


def upgrade() -> Begun:
    """Return a change of version that begins."""
    return Begun(changed(lambda spec: spec.update(version="2.19.5"), running()), NOW, Durations())


async def no_history(key: Key) -> History:
    return History()


class Compared:
    """One operator process, whose forecasts say 200 seconds after a turn of the loop."""

    def __init__(self, compute: Compute | None = None, metrics: Metrics | None = None) -> None:
        self.metrics = metrics or Metrics()
        self.asked: list[Begun] = []
        family = SimpleNamespace(kind=SimpleNamespace(engine="opensearch"), engine=Engine(), target=target)
        self.forecasts = Forecasts(cast("Family", family), self.metrics, compute or self.answer, no_history)

    async def answer(self, begun: Begun) -> Outcome:
        self.asked.append(begun)
        await asyncio.sleep(0)
        return Outcome(Change.UPGRADE, 200.4)

    def wrote(self, before: ClusterStatus, after: ClusterStatus, now: float, key: Key = KEY) -> None:
        existing: Any = SimpleNamespace(pods=())
        turn = Round(existing, upgrade().observed, cast("Any", None), before)
        self.forecasts.wrote(key, turn, after, now)

    def sample(self, part: str, **labels: str) -> float | None:
        labels = {"engine": "opensearch", "kind": "upgrade", **labels}
        return self.metrics.registry.get_sample_value(f"stateward_forecast_ratio_{part}", labels)


async def settle() -> None:
    """Let all tasks run that are ready."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_settled_change_is_a_sample_of_its_duration_over_its_forecast() -> None:
    compared = Compared()
    async with asyncio.TaskGroup() as group:
        compared.forecasts.begin(group)
        compared.wrote(ClusterStatus(), BEGUN, START)
        assert compared.forecasts.complete(KEY, BEGUN) == BEGUN
        await settle()
        full = compared.forecasts.complete(KEY, BEGUN)
        compared.wrote(BEGUN, full, START + 10)
        compared.wrote(full, SETTLED, START + 250)
        compared.forecasts.end()
    assert full.forecast == ForecastStatus(start_time=rfc3339(START), change="upgrade", duration_seconds=200)
    assert compared.sample("sum") == pytest.approx(1.25)
    assert compared.sample("bucket", le="1.25") == 1.0
    assert compared.sample("bucket", le="1.1") == 0.0
    assert len(compared.asked) == 1
    assert compared.asked[0].durations.at_once == 7


async def test_the_change_that_outlives_a_process_is_compared_by_the_next_one() -> None:
    full = replace(BEGUN, forecast=ForecastStatus(start_time=rfc3339(START), change="upgrade", duration_seconds=100))
    later = Compared()
    async with asyncio.TaskGroup() as group:
        later.forecasts.begin(group)
        assert later.forecasts.complete(KEY, full) == full
        later.wrote(full, SETTLED, START + 50)
    assert later.sample("sum") == 0.5
    assert later.asked == []


async def test_a_change_without_a_known_duration_is_no_sample() -> None:
    async def endless(_begun: Begun) -> Outcome:
        return Outcome(Change.UPGRADE, None)

    for known in (BEGUN, replace(BEGUN, forecast=ForecastStatus(start_time="", change="upgrade", duration_seconds=9))):
        compared = Compared(endless)
        async with asyncio.TaskGroup() as group:
            compared.forecasts.begin(group)
            compared.wrote(ClusterStatus(), known, START)
            await settle()
            compared.wrote(known, SETTLED, START + 50)
        assert compared.sample("count") is None


async def test_a_change_that_is_dropped_before_its_end_is_no_sample() -> None:
    compared = Compared()
    full = replace(BEGUN, forecast=ForecastStatus(start_time=rfc3339(START), change="upgrade", duration_seconds=100))
    other = replace(BEGUN, forecast=ForecastStatus(start_time=rfc3339(START + 60)))
    async with asyncio.TaskGroup() as group:
        compared.forecasts.begin(group)
        compared.wrote(full, other, START + 60)
        compared.wrote(full, ClusterStatus(), START + 70)
        await settle()
        assert compared.forecasts.complete(KEY, other) == other
    assert compared.sample("count") is None


async def test_an_edited_change_is_forecast_again_and_the_first_answer_does_not_count() -> None:
    compared = Compared()
    other = replace(BEGUN, forecast=ForecastStatus(start_time=rfc3339(START + 60)))
    async with asyncio.TaskGroup() as group:
        compared.forecasts.begin(group)
        compared.wrote(ClusterStatus(), BEGUN, START)
        await settle()
        compared.wrote(BEGUN, other, START + 60)
        assert compared.forecasts.complete(KEY, other) == other
        await settle()
        after = compared.forecasts.complete(KEY, other).forecast
    assert after is not None
    assert after.duration_seconds == 200
    assert len(compared.asked) == 2


async def test_only_a_few_forecasts_wait_at_once() -> None:
    asked, open_ = list[Begun](), asyncio.Event()

    async def slow(begun: Begun) -> Outcome:
        asked.append(begun)
        await open_.wait()
        return Outcome(Change.UPGRADE, 1.0)

    compared = Compared(slow)
    async with asyncio.TaskGroup() as group:
        compared.forecasts.begin(group)
        for number in range(MOST + 3):
            compared.wrote(ClusterStatus(), BEGUN, START, Key("prod", f"logs-{number}"))
        await settle()
        assert len(asked) == MOST
        open_.set()
        await settle()
        compared.wrote(ClusterStatus(), BEGUN, START, Key("prod", "later"))
        await settle()
    assert len(asked) == MOST + 1


@pytest.mark.parametrize("error", [GarbledError("the process ended"), ValueError("a mistake")])
async def test_a_forecast_that_fails_costs_only_a_sample(error: Exception) -> None:
    async def failing(_begun: Begun) -> Outcome:
        raise error

    compared = Compared(failing)
    async with asyncio.TaskGroup() as group:
        compared.forecasts.begin(group)
        compared.wrote(ClusterStatus(), BEGUN, START)
        await settle()
        assert compared.forecasts.complete(KEY, BEGUN) == BEGUN
        compared.wrote(BEGUN, SETTLED, START + 50)
    assert compared.sample("count") is None


async def test_the_end_of_a_process_does_not_wait_for_forecasts() -> None:
    async def endless(_begun: Begun) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    compared = Compared(endless)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        compared.forecasts.begin(group)
        compared.wrote(ClusterStatus(), BEGUN, START)
        await settle()
        compared.forecasts.end()


async def test_another_process_makes_the_same_forecast() -> None:
    begun = upgrade()
    found = await ForecastWorker()(begun)
    assert found == outcome_of(begun)
    assert found.change is Change.UPGRADE
    assert found.seconds is not None
    assert found.seconds > 60


def test_nothing_to_do_has_no_duration() -> None:
    assert outcome_of(Begun(running(), NOW, Durations())).seconds is None
