"""The page's questions to databases are few, short and shared: the operator's own work comes first."""

import asyncio

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.parse import convert_cluster
from stateward.cli.dashboard import operator_reads
from stateward.cli.dashboard.operator_reads import AT_ONCE, KEPT_SECONDS, LATE, NOT_HERE, OperatorReads
from stateward.engines.connection.base import Speed
from stateward.kube.objects.metadata import Key
from stateward.planning.model.database import Database, Health, Unknown
from tests.support.memory_server import cluster
from tests.support.moved_clock import MovedClock

REPORT = Database("u", Health.GREEN, {})


class Databases:
    """Databases that answer when they may."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Key]] = []
        self.running = self.most = 0
        self.begun = asyncio.Semaphore(0)
        """Has one for each question that has begun."""
        self.may = asyncio.Event()
        self.may.set()
        self.answer: Database | Unknown | None = REPORT

    async def report(self, plural: str, key: Key) -> Database | Unknown | None:
        self.asked.append((plural, key))
        self.running += 1
        self.begun.release()
        self.most = max(self.most, self.running)
        try:
            await self.may.wait()
        finally:
            self.running -= 1
        return self.answer

    async def speed(self, plural: str, key: Key) -> Speed:
        await self.report(plural, key)
        return Speed(at_once=2)


def one(number: int = 0) -> Cluster:
    return convert_cluster(cluster(number))


async def test_all_viewers_of_a_cluster_share_one_question_and_its_answer_for_some_seconds() -> None:
    databases, clock = Databases(), MovedClock()
    reads = OperatorReads(databases, clock)
    databases.may.clear()
    viewers = [asyncio.create_task(reads.report(one())) for _ in range(20)]
    await asyncio.sleep(0)
    databases.may.set()
    assert await asyncio.gather(*viewers) == [REPORT] * 20
    clock.later(KEPT_SECONDS - 1)
    assert await reads.report(one()) == REPORT
    assert databases.asked == [("osclusters", Key("default", "logs-000"))]
    clock.later(2)
    databases.answer = Unknown("it does not answer any more")
    assert await reads.report(one()) == databases.answer
    assert len(databases.asked) == 2


async def test_few_databases_are_asked_at_once() -> None:
    databases = Databases()
    reads = OperatorReads(databases, MovedClock())
    databases.may.clear()
    viewers = [asyncio.create_task(reads.report(one(number))) for number in range(30)]
    for _ in range(AT_ONCE):
        await databases.begun.acquire()
    databases.may.set()
    assert await asyncio.gather(*viewers) == [REPORT] * 30
    assert databases.most == AT_ONCE


async def test_a_question_ends_and_what_was_not_answered_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_reads, "PATIENCE", 0.01)
    databases, clock = Databases(), MovedClock()
    reads = OperatorReads(databases, clock)
    assert await reads.report(one()) == REPORT
    databases.may.clear()
    clock.later(KEPT_SECONDS + 1)
    assert await reads.report(one()) == Unknown(LATE)
    assert await reads.speed(one()) == Speed()
    assert databases.running == 0
    databases.may.set()
    assert await reads.report(one()) == REPORT


async def test_a_viewer_that_leaves_takes_the_answer_from_no_other() -> None:
    databases = Databases()
    reads = OperatorReads(databases, MovedClock())
    databases.may.clear()
    first, second = (asyncio.create_task(reads.report(one())) for _ in range(2))
    await databases.begun.acquire()
    first.cancel()
    databases.may.set()
    assert await second == REPORT


async def test_answers_that_no_longer_count_are_forgotten() -> None:
    databases, clock = Databases(), MovedClock()
    reads = OperatorReads(databases, clock)
    for number in range(50):
        await reads.report(one(number))
        clock.later(1)
    assert len(reads._reports._known) <= KEPT_SECONDS + 1


async def test_a_cluster_that_the_operator_does_not_know_is_unknown_and_not_empty() -> None:
    databases = Databases()
    databases.answer = None
    assert await OperatorReads(databases, MovedClock()).report(one()) == Unknown(NOT_HERE)


async def test_the_speed_is_kept_too() -> None:
    databases = Databases()
    reads = OperatorReads(databases, MovedClock())
    assert [await reads.speed(one()) for _ in range(3)] == [Speed(at_once=2)] * 3
    assert len(databases.asked) == 1
