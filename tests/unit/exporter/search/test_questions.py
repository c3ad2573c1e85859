"""The database is asked seldom, one question at a time, and an answer that does not come leaves nothing old behind."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, TooLargeError, UnreachableError
from stateward.exporter.rounds import FRESH, Round, Rounds
from stateward.exporter.search.questions import Questions
from stateward.exporter.text import text_of
from tests.unit.exporter.search.recordings import WHOSE, recorded


@dataclass
class Fake:
    """A database that counts questions, and fails as `failing` says."""

    failing: dict[str, Exception | Answer] = field(default_factory=dict[str, Exception | Answer])
    calls: list[Call] = field(default_factory=list[Call])
    at_once: int = 0
    most: int = 0

    def within(self, access: Access) -> "Fake":
        raise AssertionError(access)

    async def send(self, call: Call) -> Answer:
        self.calls.append(call)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        what = "health" if call.path.startswith("/_cluster/health") else "nodes"
        wrong = self.failing.get(what)
        if isinstance(wrong, Answer):
            return wrong
        if wrong is not None:
            raise wrong
        return Answer(200, json.dumps(recorded("opensearch-2.19.5")[what]).encode())


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def setup() -> tuple[Fake, Clock, Rounds]:
    fake, clock = Fake(), Clock()
    return fake, clock, Rounds(Questions(fake, WHOSE, clock), clock)


def value(found: Round, name: str) -> float | None:
    return next((each.value for each in found.samples if each.metric.name == f"stateward_database_{name}"), None)


async def test_scrapes_at_once_and_within_seconds_share_the_answers() -> None:
    fake, clock, questions = setup()
    rounds = await asyncio.gather(*(questions.round() for _ in range(20)))
    assert len({id(each) for each in rounds}) == 1
    clock.now += FRESH - 0.1
    await questions.round()
    assert len(fake.calls) == 2
    assert fake.most == 1
    clock.now += 0.1
    await questions.round()
    assert len(fake.calls) == 4


async def test_a_whole_round_is_up() -> None:
    _, _, questions = setup()
    found = await questions.round()
    assert value(found, "up") == 1
    assert found.failure == ""
    text = text_of(found.samples).decode()
    assert 'stateward_database_documents{engine="opensearch",name="logs",namespace="prod",node="logs-hot-0"' in text
    assert "stateward_database_indexing_total{" in text
    assert "_created" not in text


async def test_a_silent_database_has_no_values_at_once() -> None:
    fake, clock, questions = setup()
    await questions.round()
    fake.failing = {"health": UnreachableError("no route"), "nodes": UnreachableError("no route")}
    clock.now += FRESH
    found = await questions.round()
    assert {each.metric.name for each in found.samples} == {
        "stateward_database_up",
        "stateward_database_scrape_duration_seconds",
    }
    assert value(found, "up") == 0
    assert found.failure == "no route"
    fake.failing = {}
    clock.now += FRESH
    assert value(await questions.round(), "up") == 1


async def test_without_a_manager_the_values_of_nodes_are_there_and_those_of_the_cluster_are_not() -> None:
    fake, _, questions = setup()
    fake.failing = {"health": Answer(503, b'{"error": "manager not discovered"}')}
    found = await questions.round()
    assert value(found, "up") == 0
    assert value(found, "status") is None
    assert value(found, "documents") == 200
    assert "503" in found.failure


async def test_answers_that_make_no_sense_or_are_too_large_are_no_answers() -> None:
    wrong: list[Any] = [Answer(200, b"{"), Answer(200, b"[" * 100_000), Answer(200, b"[]"), TooLargeError("20 MiB")]
    for each in wrong:
        fake, _, questions = setup()
        fake.failing = {"nodes": each}
        found = await questions.round()
        assert value(found, "up") == 0
        assert value(found, "documents") is None
        assert value(found, "pending_tasks") == 0
        assert found.failure
