"""A database that replays recorded responses, and records its requests."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stateward.api.values.base import Json
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, Target, UnreachableError

DATA = Path(__file__).parent / "data"
VERSIONS = ("1.3.20", "2.19.5", "3.4.0")
NODES = frozenset({"m-0", "m-1", "m-2"})
ENDPOINT = "http://10.0.0.1:9200"
TARGET = Target(endpoints=(ENDPOINT,), name="probe")

GREETING = "GET /_cluster/state/master_node,blocks"
STATE = "GET /_cluster/state/nodes,master_node,routing_table,metadata,blocks"
INFO = "GET /_nodes/http"
STATS = "GET /_nodes/stats/fs,os,indices/store"
RECORDED_AS = {STATS: "GET /_nodes/stats/fs,indices/store"}
"""Requests that had another path when the answers were recorded: those have no use of processors in them."""
SETTINGS = "GET /_cluster/settings"
EXPLAIN = "POST /_cluster/allocation/explain"
PARTS = (GREETING, STATE, INFO, STATS, SETTINGS)


def recorded(situation: str, version: str = "2.19.5") -> dict[str, Any]:
    """Return the bodies of a real cluster's answers by request."""
    document = json.loads((DATA / f"opensearch-{version}.json").read_text())
    answers: dict[str, Any] = document[situation]
    now = {before: request for request, before in RECORDED_AS.items()}
    return {now.get(request, request): answer["body"] for request, answer in answers.items()}


class Replay:
    """A `Transport` with an answer, or an error, for each request."""

    def __init__(self, bodies: Mapping[str, Any], endpoints: tuple[str, ...] = (ENDPOINT,)) -> None:
        self.answers: dict[str, Answer | Exception] = {
            request: Answer(200, json.dumps(body).encode()) for request, body in bodies.items()
        }
        self.endpoints = endpoints
        self.accesses: list[Access] = []
        self.asked: list[tuple[str, Mapping[str, str], Json | None]] = []

    def edit(self, request: str, change: Callable[[Any], None]) -> "Replay":
        """Change an answer's body in place."""
        answer = self.answers[request]
        assert isinstance(answer, Answer)
        body = json.loads(answer.body)
        change(body)
        return self.put(request, Answer(answer.status, json.dumps(body).encode()))

    def put(self, request: str, answer: Answer | Exception) -> "Replay":
        """Replace an answer."""
        self.answers[request] = answer
        return self

    def within(self, access: Access) -> "Replay":
        self.accesses.append(access)
        return self

    async def send(self, call: Call) -> Answer:
        if call.endpoint not in self.endpoints:
            raise UnreachableError(f"{call.endpoint} cannot be asked: refused")
        request = f"{call.method} {call.path}"
        self.asked.append((request, call.params or {}, call.body))
        answer = self.answers.get(request, Answer(404, b'{"error":"no handler found"}'))
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def told(self) -> list[tuple[str, Mapping[str, str], Json | None]]:
        """Everything that was asked but did not only read."""
        return [ask for ask in self.asked if not ask[0].startswith("GET") and ask[0] != EXPLAIN]


def rename(body: Any) -> None:
    """Let another cluster answer."""
    body["cluster_name"] = "other"
