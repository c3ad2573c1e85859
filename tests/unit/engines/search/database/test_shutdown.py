"""Records of node shutdowns: announced if the database supports them, found again, and always removed."""

import json
from typing import Any

import pytest

from stateward.engines import elasticsearch
from stateward.engines.connection.base import Answer, RefusedError
from stateward.planning.model.observation import Allocation, Database, Unknown
from tests.unit.engines.replay import SETTINGS, TARGET, Replay, recorded

GET, NODES = "GET /_nodes/shutdown", "GET /_cluster/state/nodes"
UNKNOWN = Answer(400, b'{"error":"no handler found for uri [/_nodes/shutdown] and method [GET]"}')
GOING = frozenset({"m-1"})
PUT, DELETE = "PUT /_nodes/id-1/shutdown", "DELETE /_nodes/id-1/shutdown"


def record(node: str, kind: str, reason: str) -> dict[str, str]:
    return {"node_id": node, "type": kind, "reason": reason, "status": "COMPLETE"}


def world(*records: dict[str, str]) -> Replay:
    bodies = {
        **recorded("settled"),
        GET: {"nodes": list(records)},
        NODES: {"nodes": {f"id-{n}": {"name": f"m-{n}"} for n in range(3)}},
        PUT: {"acknowledged": True},
        DELETE: {"acknowledged": True},
        "PUT /_cluster/settings": {"acknowledged": True},
    }
    return Replay(bodies)


def told(of: Replay) -> list[tuple[str, Any]]:
    """Return the announcements to the database."""
    return [(request, body) for request, _, body in of.told if request.endswith("/shutdown")]


async def look(of: Replay) -> Database:
    found = await elasticsearch.driver(of).observe(TARGET)
    assert isinstance(found, Database), found
    return found


async def test_the_database_is_notified_which_members_restart_and_which_leave_permanently() -> None:
    first, second = world(), world()
    await elasticsearch.driver(first).limit_allocation(TARGET, Allocation.PRIMARIES, GOING)
    assert told(first) == [(PUT, {"type": "restart", "reason": "stateward: m-1"})]
    await elasticsearch.driver(second).drain(TARGET, GOING | {"away"})
    assert told(second) == [(PUT, {"type": "remove", "reason": "stateward: m-1"})]


async def test_an_announcement_is_observed_and_removed_by_the_next_operator_after_a_crash() -> None:
    seen = await look(world(record("id-1", "RESTART", "stateward: m-1"), record("gone", "REMOVE", "stateward: m-7")))
    assert (seen.half_limited, seen.half_draining) == (True, {"m-7"})
    left = world(record("id-1", "RESTART", "stateward: m-1"))
    await elasticsearch.driver(left).restore_allocation(TARGET)
    assert told(left) == [(DELETE, None)]
    stays = world(record("id-1", "REMOVE", "stateward: m-1"))
    await elasticsearch.driver(stays).drain(TARGET, GOING)
    assert told(stays) == []
    await elasticsearch.driver(stays).drain(TARGET, frozenset())
    assert told(stays) == [(DELETE, None)]


async def test_a_record_without_its_setting_is_no_limit_and_no_drain() -> None:
    """A crash between the two requests leaves one of them: nothing moves away then, and no copy is held back."""
    seen = await look(world(record("id-1", "RESTART", "stateward: m-1"), record("gone", "REMOVE", "stateward: m-7")))
    assert (seen.limited, seen.draining) == (False, frozenset())


async def test_what_others_have_told_is_left_alone() -> None:
    theirs = world(record("id-1", "RESTART", "a user announced it"))
    driver = elasticsearch.driver(theirs)
    await driver.limit_allocation(TARGET, Allocation.PRIMARIES, GOING)
    await driver.drain(TARGET, GOING)
    await driver.drain(TARGET, frozenset())
    await driver.restore_allocation(TARGET)
    assert told(theirs) == []
    assert not (await look(theirs)).limited


async def test_a_member_that_restarts_while_it_leaves_continues_leaving() -> None:
    leaving = world(record("id-1", "REMOVE", "stateward: m-1"))
    driver = elasticsearch.driver(leaving)
    await driver.limit_allocation(TARGET, Allocation.PRIMARIES, GOING)
    await driver.restore_allocation(TARGET)
    assert told(leaving) == []
    restarting = world(record("id-1", "RESTART", "stateward: m-1"))
    await elasticsearch.driver(restarting).drain(TARGET, GOING)
    assert told(restarting) == [(PUT, {"type": "remove", "reason": "stateward: m-1"})]


@pytest.mark.parametrize(
    "answer",
    [
        UNKNOWN,
        Answer(405, b"{}"),
        Answer(403, b'{"error":{"type":"security_exception","reason":"operator privileges"},"status":403}'),
        # Without the module, the last part of the path is taken for the name of a node.
        Answer(200, json.dumps({"_nodes": {"total": 0}, "cluster_name": "probe", "nodes": {}}).encode()),
    ],
)
async def test_a_build_that_knows_no_such_records_does_without(answer: Answer) -> None:
    old = world().put(GET, answer)
    assert not (await look(old)).limited
    driver = elasticsearch.driver(old)
    await driver.limit_allocation(TARGET, Allocation.PRIMARIES, GOING)
    await driver.drain(TARGET, GOING)
    await driver.restore_allocation(TARGET)
    assert told(old) == []
    assert any(request == "PUT /_cluster/settings" for request, _, _ in old.told)


async def test_one_that_refuses_them_is_limited_all_the_same() -> None:
    strict = world().put(PUT, Answer(403, b"{}"))
    await elasticsearch.driver(strict).limit_allocation(TARGET, Allocation.PRIMARIES, GOING)
    assert [request for request, _, _ in strict.told] == ["PUT /_cluster/settings", PUT]


async def test_a_record_that_cannot_be_removed_is_reported_and_a_concurrent_removal_is_no_error() -> None:
    left = world(record("id-1", "RESTART", "stateward: m-1"))
    await elasticsearch.driver(left.put(DELETE, Answer(404, b"{}"))).restore_allocation(TARGET)
    with pytest.raises(RefusedError):
        await elasticsearch.driver(left.put(DELETE, Answer(500, b"{}"))).restore_allocation(TARGET)


@pytest.mark.parametrize("answer", [Answer(503, b"{}"), Answer(200, b"{}"), Answer(200, b'{"nodes":[{}]}')])
async def test_records_that_cannot_be_read_are_unknown_and_not_absent(answer: Answer) -> None:
    assert isinstance(await elasticsearch.driver(world().put(GET, answer)).observe(TARGET), Unknown)


async def test_a_restart_without_members_is_not_announced() -> None:
    quiet = world()
    await elasticsearch.driver(quiet).limit_allocation(TARGET, Allocation.PRIMARIES)
    assert GET not in [request for request, _, _ in quiet.asked]
    assert SETTINGS in [request for request, _, _ in quiet.asked]
