"""The result of a probe if the process ends or is replaced during the request to the database."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from stateward.agent.io.wire import Head
from stateward.agent.process.database import Database, Facts, State
from stateward.agent.process.launch import Launcher
from stateward.agent.process.settings import Settings
from stateward.agent.serving import inquiry
from stateward.agent.serving.probes import Probes

URL = "http://127.0.0.1:9200/"


class Asked:
    """Probes of an agent with a fake database, and an event during its response."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = True
        self.meanwhile: Callable[[], None] = lambda: None
        self.started = 0
        self.database = SimpleNamespace(facts=Facts(State.RUNNING, 7), came_up=self.came_up)
        settings = SimpleNamespace(started_url=URL, ready_url=URL, credentials=None, probe_seconds=1.0)
        launcher = SimpleNamespace(configuration=Path("/nowhere"))
        self.probes = Probes(
            cast("Settings", settings), cast("Database", self.database), cast("Launcher", launcher), lambda: None
        )
        monkeypatch.setattr(inquiry, "ask", self.ask)

    def came_up(self) -> None:
        self.started += 1

    async def ask(self, _url: object, _credentials: object, _seconds: float) -> tuple[bool, str]:
        self.meanwhile()
        return self.answers, "answered" if self.answers else "refused"

    def becomes(self, state: State, pid: int | None) -> None:
        self.database.facts = Facts(state, pid)

    def get(self, path: str, method: str = "GET") -> int:
        async def body() -> bytes:
            return b""

        return asyncio.run(self.probes.answer(Head(method, path, {}), body)).status


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


def test_a_process_that_runs_and_answers_is_ready(asked: Asked) -> None:
    assert asked.get("/ready") == 200


def test_a_process_that_is_stopped_during_its_answer_is_not_ready(asked: Asked) -> None:
    asked.meanwhile = lambda: asked.becomes(State.STOPPING, 7)
    assert asked.get("/ready") == 503


def test_the_answer_of_a_process_before_says_nothing_of_the_one_after_it(asked: Asked) -> None:
    asked.meanwhile = lambda: asked.becomes(State.RUNNING, 8)
    assert asked.get("/ready") == 503
    asyncio.run(asked.probes.came_up())
    assert asked.started == 1, "process 8 answered for itself"
    asked.meanwhile = lambda: asked.becomes(State.RUNNING, 9)
    asyncio.run(asked.probes.came_up())
    assert asked.started == 1, "process 9 has not answered yet"


def test_a_busy_process_that_has_served_is_stopped_and_is_not_ready_at_once(asked: Asked) -> None:
    assert asked.get("/ready") == 200
    asked.answers = False
    assert asked.get("/ready") == 200
    asked.becomes(State.STOPPING, 7)
    assert asked.get("/ready") == 503
    asked.becomes(State.STARTING, 7)
    assert asked.get("/ready") == 503, "another process that the kernel has given the same number"


def test_only_a_serving_member_that_does_not_return_by_itself_is_waited_for(asked: Asked) -> None:
    assert asked.get("/ready") == 200
    asked.answers = False
    said = [asked.get("/ready") for _ in range(12)]
    assert said == [200] * 9 + [503] * 3
    asked.becomes(State.STOPPED, None)
    assert asked.get("/ready") == 503
    asked.becomes(State.RUNNING, 7)
    asked.answers = True
    assert asked.get("/ready") == 200


def test_only_get_is_possible(asked: Asked) -> None:
    assert asked.get("/ready", "POST") == 405
