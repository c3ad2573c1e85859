"""Whatever a database answers to whichever request, the driver ends with a picture or with an error of its own."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.engines import elasticsearch, opensearch
from stateward.engines.connection.base import Answer, Call, Engine, EngineError, MeasuredEngine
from stateward.engines.foundationdb.database.commands import STATUS, Printed
from stateward.operator.databases.foundationdb_shell import printed
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import Allocation, Database
from tests.support.fuzz import fuzzed
from tests.unit.engines.foundationdb_model import Model, cluster
from tests.unit.engines.replay import EXPLAIN, PARTS, TARGET, Replay, recorded

MEMBERS = frozenset({"m-1", "gone"})
ORDERS: Mapping[str, Callable[[Engine], Awaitable[object]]] = {
    "limit": lambda engine: engine.limit_allocation(TARGET, Allocation.PRIMARIES, MEMBERS),
    "restore": lambda engine: engine.restore_allocation(TARGET),
    "flush": lambda engine: engine.flush(TARGET),
    "drain": lambda engine: engine.drain(TARGET, MEMBERS),
    "voters": lambda engine: engine.exclude_voters(TARGET, MEMBERS),
    "user": lambda engine: engine.add_user(TARGET, "admin", "a password"),
    "move": lambda engine: engine.move_copies(TARGET, (Move("a[0]", "m-0", "m-1"),)),
    "resume": lambda engine: engine.resume_balancing(TARGET),
}
RECOVERED = {
    "type": "PEER",
    "stage": "DONE",
    "total_time_in_millis": 5000,
    "index": {"size": {"recovered_in_bytes": 1 << 30, "reused_in_bytes": 0}},
}
PACE = {
    "transient": {},
    "persistent": {
        "indices": {"recovery": {"max_bytes_per_sec": "40mb"}},
        "cluster": {"routing": {"allocation": {"node_concurrent_recoveries": "2"}}},
    },
}
ANSWERS: Mapping[str, Any] = {
    "GET /_nodes/shutdown": {"nodes": [{"node_id": "a", "type": "REMOVE", "reason": "stateward: m-1"}]},
    "GET /_cluster/state/nodes": {"nodes": {"a": {"name": "m-1"}, "b": {"name": "m-2"}}},
    "GET /_plugins/_security/api/internalusers": {"someone": {"reserved": False}},
    "POST /_flush": {"_shards": {"failed": 0}},
    "PUT /_cluster/settings": {"acknowledged": True},
    "POST /_cluster/reroute": {"acknowledged": True, "explanations": []},
    EXPLAIN: {"can_allocate": "no", "node_allocation_decisions": [{"node_name": "m-0", "deciders": []}]},
    "GET /_recovery": {"a": {"shards": [RECOVERED, RECOVERED, RECOVERED]}},
}
"""The responses to requests that are not recorded."""

NASTY: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**400,
    -(2**63),
    1e308,
    "",
    "9" * 5000,
    "0001-01-01",
    "\ud800",
    "a,,b",
    [],
    {},
    ["a", "a"],
)
"""Values of all kinds, of which each is out of some bounds."""
KEYS = ("", "x", "9" * 5000, "\ud800", "-1")
LEAVES = st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(NASTY))
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))


def encoded(body: Any) -> bytes:
    """Return JSON as bytes, also of what no text has."""
    return json.dumps(body).encode()


def strange(data: st.DataObject, body: Any) -> bytes:
    """Return an answer in which something is changed, or that is something else altogether."""
    way = data.draw(st.sampled_from(["bytes", "cut", "other", "deep"]))
    if way == "other":
        return encoded(data.draw(VALUES))
    if way == "deep":
        return b'{"nodes":' + b"[" * 20_000
    whole = encoded(body)
    at = data.draw(st.integers(0, len(whole)))
    return whole[:at] if way == "cut" else whole[:at] + data.draw(st.binary(min_size=1, max_size=4)) + whole[at + 1 :]


def changes(body: Any) -> Iterator[Any]:
    """Return the body with each of its values and keys replaced by nasty ones; of a list, those of the first item.

    What is returned is the same object each time.
    """
    yield from NASTY
    yield from _within(body, body)


def _within(body: Any, place: Any) -> Iterator[Any]:
    for key in list(place) if isinstance(place, dict) else range(min(1, len(place))):
        kept = place[key]
        for value in NASTY:
            place[key] = value
            yield body
        place[key] = kept
        if isinstance(place, dict):
            yield from _renamed(body, place, key)
        place[key] = kept
        if isinstance(kept, (dict, list)):
            yield from _within(body, kept)


def _renamed(body: Any, place: Any, key: Any) -> Iterator[Any]:
    value = place.pop(key)
    for name in KEYS:
        place[name] = value
        yield body
        del place[name]


class Strange(Replay):
    """A database that answers some of its requests strangely."""

    def __init__(self, data: st.DataObject) -> None:
        super().__init__(answers())
        self.data = data

    async def send(self, call: Call) -> Answer:
        answer = await super().send(call)
        if self.data.draw(st.booleans()):
            return answer
        body = json.loads(answer.body)
        return Answer(self.data.draw(st.sampled_from([200, 201, 404, 409, 503])), strange(self.data, body))


DRIVERS = pytest.mark.parametrize("driver", [opensearch.driver, elasticsearch.driver])
Driver = Callable[[Replay], Engine]


def answers(situation: str = "busy") -> dict[str, Any]:
    """Return what is answered to every request."""
    return {**ANSWERS, **recorded(situation)}


async def obeyed(order: Awaitable[object]) -> None:
    with suppress(EngineError):
        await order


@DRIVERS
@pytest.mark.parametrize("request_", [*PARTS, EXPLAIN, "GET /_nodes/shutdown"])
async def test_any_value_in_an_answer_of_a_search_engine_makes_a_picture_or_a_reason(
    request_: str, driver: Driver
) -> None:
    for situation in ("settled", "busy") if request_ != EXPLAIN else ("busy",):
        bodies = answers(situation)
        for body in changes(deepcopy(bodies[request_])):
            found = await driver(Replay(bodies).put(request_, Answer(200, encoded(body)))).observe(TARGET)
            assert isinstance(found, Database) or found.why


@DRIVERS
@pytest.mark.parametrize("order", ORDERS)
async def test_any_value_in_an_answer_to_a_command_is_success_or_a_driver_error(order: str, driver: Driver) -> None:
    usual = Replay(answers("limited"))
    await obeyed(ORDERS[order](driver(usual)))
    for request_ in {asked for asked, _, _ in usual.asked if asked in usual.answers}:
        for body in changes(deepcopy(answers("limited")[request_])):
            world = Replay(answers("limited")).put(request_, Answer(200, encoded(body)))
            await obeyed(ORDERS[order](driver(world)))


async def test_any_value_in_recovery_progress_is_read_or_a_driver_error() -> None:
    bodies = {**answers(), "GET /_cluster/settings": PACE}
    for request_ in ("GET /_cluster/settings", "GET /_recovery"):
        for body in changes(deepcopy(bodies[request_])):
            world = Replay(bodies).put(request_, Answer(200, encoded(body)))
            engine = opensearch.driver(world)
            assert isinstance(engine, MeasuredEngine)
            await obeyed(engine.recovery_speed(TARGET))


@fuzzed(100)
@given(st.data())
@DRIVERS
async def test_any_bytes_from_a_search_engine_make_a_picture_or_a_reason(driver: Driver, data: st.DataObject) -> None:
    found = await driver(Strange(data)).observe(TARGET)
    assert isinstance(found, Database) or found.why


@fuzzed(40)
@given(st.data())
@DRIVERS
@pytest.mark.parametrize("order", ORDERS)
async def test_any_bytes_in_answer_to_a_command_are_success_or_a_driver_error(
    order: str, driver: Driver, data: st.DataObject
) -> None:
    await obeyed(ORDERS[order](driver(Strange(data))))


class StrangeTown(Model):
    """A database with scripted output of its command line."""

    instead: Callable[[str, str], bytes | None] | None = None

    async def run(self, pod: str, command: str, seconds: int) -> Printed:
        found = await super().run(pod, command, seconds)
        text = self.instead(command, found.output) if self.instead else None
        return found if text is None else printed(text.decode(errors="replace"))


FOUNDATION: Mapping[str, Callable[[Model], Awaitable[object]]] = {
    "form": lambda model: model.engine.create_database(model.target()),
    "tend": lambda model: model.engine.configure(model.target()),
    "limit": lambda model: model.engine.limit_allocation(model.target(), Allocation.NONE, frozenset({"ledger-log-1"})),
    "restore": lambda model: model.engine.restore_allocation(model.target()),
    "drain": lambda model: model.engine.drain(model.target(), frozenset({"ledger-log-1"})),
    "voters": lambda model: model.engine.exclude_voters(model.target(), frozenset({"ledger-log-1"})),
}
END = b"\nstateward-exit 0\n"


async def formed() -> StrangeTown:
    model = StrangeTown(cluster())
    await model.made()
    return model


async def looked(model: Model) -> None:
    found = await model.engine.observe(model.target())
    assert isinstance(found, Database) or found.why


async def status(model: StrangeTown) -> Any:
    return json.loads((await model.run("bank/ledger-storage-0-0", STATUS, 10)).output)


@pytest.mark.parametrize("order", ["look", "tend", "drain"])
async def test_any_value_in_a_status_makes_a_picture_or_a_reason(order: str) -> None:
    model = await formed()
    whole = await status(model)
    processes = whole["cluster"]["processes"]
    few = dict(list(processes.items())[:2])
    body = {**whole, "cluster": {**whole["cluster"], "processes": few}}
    for changed in changes(body):
        printing = encoded(changed) + END
        model.instead = lambda command, _, printing=printing: printing if command == STATUS else None
        await (looked(model) if order == "look" else obeyed(FOUNDATION[order](model)))


@fuzzed(100)
@given(st.data())
@pytest.mark.parametrize("order", ["look", *FOUNDATION])
async def test_any_output_of_fdbcli_makes_a_picture_or_a_reason(order: str, data: st.DataObject) -> None:
    def instead(command: str, output: str) -> bytes | None:
        if data.draw(st.booleans()):
            return None
        text = strange(data, json.loads(output)) if command == STATUS else data.draw(st.binary())
        return text + (END if data.draw(st.booleans()) else b"")

    model = await formed()
    model.instead = instead
    await (looked(model) if order == "look" else obeyed(FOUNDATION[order](model)))
