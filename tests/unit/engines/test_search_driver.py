"""What a real cluster's answers become, and how anything else becomes Unknown."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.engines import opensearch
from stateward.engines.base import AnotherClusterError, Answer, RefusedError, UnreachableError
from stateward.engines.search.explain import EVERYWHERE
from stateward.planning.actions import Move
from stateward.planning.observation import Allocation, Copy, CopyState, Database, Health, Unit, Unknown
from tests.unit.engines import replay
from tests.unit.engines.replay import (
    ENDPOINT,
    EXPLAIN,
    GREETING,
    INFO,
    NODES,
    PARTS,
    STATE,
    STATS,
    TARGET,
    Replay,
    recorded,
)

Edit = Callable[[Any], None]


async def seen(world: Replay, target: replay.Target = TARGET) -> Database | Unknown:
    return await opensearch.driver(world).observe(target)


async def picture(world: Replay) -> Database:
    found = await seen(world)
    assert isinstance(found, Database), found
    return found


async def why_unknown(world: Replay, target: replay.Target = TARGET) -> str:
    found = await seen(world, target)
    assert isinstance(found, Unknown), found
    return found.why


def unit(database: Database, name: str) -> Unit:
    return next(unit for unit in database.units if unit.name == name)


@pytest.mark.parametrize("version", replay.VERSIONS)
async def test_a_settled_cluster(version: str) -> None:
    database = await picture(Replay(recorded("settled", version)))
    assert database.health is Health.GREEN
    assert database.nodes.keys() == NODES == database.voters
    assert database.leader in NODES
    assert {node.version for node in database.nodes.values()} == {version}
    assert all(node.data and node.voting and 0 < node.disk_free < node.disk_total for node in database.nodes.values())
    assert {(u.name, u.wanted, len(u.copies)) for u in database.units} == {
        ("logs[0]", 2, 2),
        ("logs[1]", 2, 2),
        ("single[0]", 1, 1),
    }
    assert all(copy.live for u in database.units for copy in u.copies)
    assert unit(database, "single[0]").size > 1 << 20
    assert (database.allocation, database.limited, database.draining) == (Allocation.ALL, False, frozenset())


@pytest.mark.parametrize("version", replay.VERSIONS)
async def test_a_busy_cluster(version: str) -> None:
    database = await picture(Replay(recorded("busy", version)))
    assert database.health is Health.YELLOW
    assert database.voting_exclusions == {"m-2", "gone-1"}
    assert "m-2" not in database.voters
    (moving,) = unit(database, "single[0]").copies
    assert (moving.state, moving.live, moving.primary) == (CopyState.RELOCATING, True, True)
    assert {moving.member, moving.target} < NODES
    assert unit(database, "auto[0]").flexible
    assert not unit(database, "logs[0]").flexible


@pytest.mark.parametrize("version", replay.VERSIONS)
async def test_unassigned_copies_say_why(version: str) -> None:
    world = Replay(recorded("busy", version))
    database = await picture(world)
    assert [copy.why for copy in missing(database, "wide[0]")] == [f"index created; {EVERYWHERE}"] * 2
    (pinned,) = missing(database, "pinned[0]")
    assert pinned.held
    assert pinned.why.startswith("index created; filter on m-")
    assert pinned.since > 1.7e9
    assert not pinned.in_sync
    assert [body for request, _, body in world.asked if request == EXPLAIN] == [
        {"index": "pinned", "shard": 0, "primary": False}
    ]


def missing(database: Database, name: str) -> list[Copy]:
    return [copy for copy in unit(database, name).copies if copy.state is CopyState.UNASSIGNED]


@pytest.mark.parametrize("answer", ["yes", "throttled", "awaiting_info", "allocation_delayed", "worse_balance"])
async def test_a_copy_that_may_be_placed_is_not_held(answer: str) -> None:
    world = Replay(recorded("busy")).edit(EXPLAIN, lambda body: body.update(can_allocate=answer))
    assert not any(copy.held for copy in missing(await picture(world), "pinned[0]"))


@pytest.mark.parametrize("answer", [Answer(400, b"{}"), Answer(200, b"{}")])
async def test_a_copy_that_was_placed_meanwhile_is_not_held(answer: Answer) -> None:
    world = Replay(recorded("busy")).put(EXPLAIN, answer)
    assert not any(copy.held for copy in missing(await picture(world), "pinned[0]"))


async def test_nothing_is_held_while_the_allocation_is_limited() -> None:
    database = await picture(Replay(recorded("limited")))
    assert (database.allocation, database.limited, database.draining) == (Allocation.PRIMARIES, True, {"m-2"})
    assert not any(copy.held for u in database.units for copy in u.copies)


async def test_one_look_is_a_few_requests() -> None:
    world = Replay(recorded("settled"))
    await seen(world)
    assert [request for request, _, _ in world.asked] == list(PARTS)
    assert not world.told


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b""),
        Answer(200, b"{}"),
        Answer(200, b"[]"),
        Answer(200, b"<html>502 Bad Gateway</html>"),
        Answer(200, b"\xff\xfe\x00"),
        Answer(503, b'{"error":{"type":"cluster_manager_not_discovered_exception","reason":null},"status":503}'),
        Answer(500, b"oops"),
        Answer(401, b'{"error":"Unauthorized"}'),
        Answer(302, b""),
        UnreachableError("it did not answer in time"),
    ],
)
async def test_anything_but_a_whole_answer_is_unknown(part: str, answer: Answer | Exception) -> None:
    assert await why_unknown(Replay(recorded("settled")).put(part, answer))


@pytest.mark.parametrize("part", PARTS)
async def test_half_an_answer_is_unknown(part: str) -> None:
    world = Replay(recorded("busy"))
    answer = world.answers[part]
    assert isinstance(answer, Answer)
    for end in range(0, len(answer.body), max(1, len(answer.body) // 50)):
        await why_unknown(world.put(part, Answer(200, answer.body[:end])))


@settings(deadline=None)
@given(st.data())
async def test_a_part_that_is_missing_is_never_read_as_empty(data: st.DataObject) -> None:
    """Scenario: a failed call for metadata, read as a cluster without indices, lets every member go."""
    world = Replay(recorded("settled"))
    part = data.draw(st.sampled_from([STATE, INFO, STATS]))
    before = await picture(world)
    world.edit(part, lambda body: drop_something(body, data))
    after = await seen(world)
    if isinstance(after, Database):
        assert {u.name for u in after.units} == {u.name for u in before.units}
        assert after.nodes.keys() == before.nodes.keys()
        assert [len(u.copies) for u in after.units] == [len(u.copies) for u in before.units]


def drop_something(body: Any, data: st.DataObject) -> None:
    """Take one key out of the answer, at any depth above single copies."""
    place = body
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        inner = place[key]
        if not isinstance(inner, dict) or not inner or data.draw(st.booleans()):
            del place[key]
            return
        place = inner


def lose_routing(body: Any) -> None:
    body["routing_table"]["indices"].popitem()


def lose_metadata(body: Any) -> None:
    body["metadata"]["indices"].pop("logs")


def lose_all_metadata(body: Any) -> None:
    del body["metadata"]["indices"]


def lose_in_sync(body: Any) -> None:
    body["metadata"]["indices"]["logs"]["in_sync_allocations"] = {}


def lose_shard(body: Any) -> None:
    body["routing_table"]["indices"]["logs"]["shards"].pop("1")


def lose_copy(body: Any) -> None:
    body["routing_table"]["indices"]["logs"]["shards"]["1"].pop()


def lose_replicas(body: Any) -> None:
    body["metadata"]["indices"]["logs"]["settings"]["index"]["number_of_replicas"] = "many"


def lose_node(body: Any) -> None:
    body["nodes"].popitem()


def lose_primary(body: Any) -> None:
    for copy in body["routing_table"]["indices"]["single"]["shards"]["0"]:
        copy["primary"] = False


def lose_place(body: Any) -> None:
    body["routing_table"]["indices"]["single"]["shards"]["0"][0]["node"] = None


def unheard_state(body: Any) -> None:
    body["routing_table"]["indices"]["single"]["shards"]["0"][0]["state"] = "DREAMING"


def lose_manager(body: Any) -> None:
    body.pop("master_node", None)
    body.pop("cluster_manager_node", None)


def not_recovered(body: Any) -> None:
    body["blocks"] = {"global": {"1": {"description": "state not recovered / initialized"}}}
    body["metadata"].pop("indices")
    body["routing_table"] = {"indices": {}}


def double_name(body: Any) -> None:
    for node in body["nodes"].values():
        node["name"] = "m-0"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lose_routing, "in one part of the cluster's state and not in the other"),
        (lose_metadata, "in one part of the cluster's state and not in the other"),
        (lose_all_metadata, "in one part of the cluster's state and not in the other"),
        (lose_in_sync, "don't agree about the shards of logs"),
        (lose_shard, "don't agree about the shards of logs"),
        (lose_replicas, "does not hold all copies"),
        (lose_copy, "does not hold all copies"),
        (lose_node, "on a node that is not in the cluster's state"),
        (lose_primary, "has not exactly one primary"),
        (lose_place, "does not say where a copy"),
        (unheard_state, "answers what it should not"),
        (lose_manager, "no cluster manager is elected"),
        (not_recovered, "not recovered yet"),
        (double_name, "two nodes of one name"),
    ],
)
async def test_a_state_that_contradicts_itself_is_unknown(change: Edit, why: str) -> None:
    assert why in await why_unknown(Replay(recorded("settled")).edit(STATE, change))


def rename(body: Any) -> None:
    body["cluster_name"] = "other"


def another_life(body: Any) -> None:
    body["cluster_uuid"] = "other"


def unformed(body: Any) -> None:
    body["cluster_uuid"] = "_na_"
    lose_manager(body)


def blocked(body: Any) -> None:
    body["blocks"] = {"global": {"2": {"description": "no cluster-manager"}}}


@pytest.mark.parametrize("part", [GREETING, STATE])
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (rename, "another cluster answers"),
        (another_life, "another cluster answers"),
        (unformed, "not formed yet"),
        (lose_manager, "no cluster manager"),
        (blocked, "no cluster manager"),
    ],
)
async def test_only_the_expected_cluster_with_a_manager_is_believed(part: str, change: Edit, why: str) -> None:
    bodies = recorded("settled")
    target = replace(TARGET, identity=bodies[STATE]["cluster_uuid"])
    assert isinstance(await seen(Replay(bodies), target), Database)
    assert why in await why_unknown(Replay(bodies).edit(part, change), target)


@pytest.mark.parametrize("part", [INFO, STATS])
async def test_a_node_that_does_not_answer_makes_the_picture_unknown(part: str) -> None:
    def fail(body: Any) -> None:
        body["_nodes"]["failed"] = 1

    assert "do not answer" in await why_unknown(Replay(recorded("settled")).edit(part, fail))
    assert "clusters" in await why_unknown(Replay(recorded("settled")).edit(part, rename))
    gone: Edit = lambda body: body["nodes"].popitem()  # noqa: E731
    assert "does not answer" in await why_unknown(Replay(recorded("settled")).edit(part, gone))


async def test_a_voter_that_is_gone_still_counts() -> None:
    def lose_voter(body: Any) -> None:
        body["metadata"]["cluster_coordination"]["last_committed_config"].append("an-id-of-nobody")

    database = await picture(Replay(recorded("settled")).edit(STATE, lose_voter))
    assert len(database.voters) == 4


async def test_an_unassigned_primary_is_red_and_held_where_no_copy_is_left() -> None:
    def lose_primary_copy(body: Any) -> None:
        info = {"reason": "NODE_LEFT", "at": "2026-11-21T08:28:06.906Z", "allocation_status": "no_valid_shard_copy"}
        copy = {"state": "UNASSIGNED", "primary": True, "node": None, "relocating_node": None, "unassigned_info": info}
        body["routing_table"]["indices"]["single"]["shards"]["0"] = [copy]

    database = await picture(Replay(recorded("settled")).edit(STATE, lose_primary_copy))
    (copy,) = unit(database, "single[0]").copies
    assert database.health is Health.RED
    assert (copy.held, copy.live, copy.why, copy.since) == (True, False, "node left", 1795249686.906)


async def test_the_next_member_is_asked_where_one_does_not_answer() -> None:
    world = Replay(recorded("settled"))
    target = replace(TARGET, endpoints=("http://10.9.9.9:9200", ENDPOINT))
    assert isinstance(await seen(world, target), Database)


async def test_without_an_address_nothing_is_known() -> None:
    why = await why_unknown(Replay(recorded("settled")), replace(TARGET, endpoints=()))
    assert why == "no member has an address yet"


async def test_the_most_telling_failure_is_reported() -> None:
    world = Replay(recorded("settled")).edit(GREETING, rename)
    target = replace(TARGET, endpoints=("http://10.9.9.9:9200", ENDPOINT, "http://10.9.9.8:9200"))
    assert "another cluster answers" in await why_unknown(world, target)


async def test_nothing_is_told_to_another_cluster() -> None:
    world = Replay(recorded("settled")).edit(GREETING, rename)
    driver = opensearch.driver(world)
    everyone = frozenset(NODES)
    for call in (
        lambda: driver.limit_allocation(TARGET, Allocation.PRIMARIES),
        lambda: driver.restore_allocation(TARGET),
        lambda: driver.flush(TARGET),
        lambda: driver.drain(TARGET, everyone),
        lambda: driver.exclude_voters(TARGET, everyone),
        lambda: driver.move_copies(TARGET, (Move("logs[0]", "m-0", "m-1"),)),
    ):
        with pytest.raises(AnotherClusterError):
            await call()
    assert not world.told


async def test_the_limit_is_one_request_and_is_not_repeated() -> None:
    world = Replay(recorded("settled")).put("PUT /_cluster/settings", Answer(200, b'{"acknowledged":true}'))
    await opensearch.driver(world).limit_allocation(TARGET, Allocation.PRIMARIES)
    assert len(world.told) == 1
    limited = Replay(recorded("limited"))
    await opensearch.driver(limited).limit_allocation(TARGET, Allocation.PRIMARIES)
    assert not limited.told


async def test_a_change_that_was_not_acknowledged_is_an_error() -> None:
    world = Replay(recorded("settled")).put("PUT /_cluster/settings", Answer(200, b'{"acknowledged":false}'))
    with pytest.raises(RefusedError, match="did not acknowledge"):
        await opensearch.driver(world).drain(TARGET, frozenset({"m-1"}))


EXCLUSIONS = "/_cluster/voting_config_exclusions"


def exclusions_world(situation: str) -> Replay:
    world = Replay(recorded(situation))
    return world.put(f"POST {EXCLUSIONS}", Answer(200, b"")).put(f"DELETE {EXCLUSIONS}", Answer(200, b""))


@pytest.mark.parametrize(
    ("members", "requests"),
    [
        ({"m-2", "gone-1"}, []),
        ({"m-1", "m-2", "gone-1"}, ["POST"]),
        ({"m-2"}, ["DELETE", "POST"]),
        (set[str](), ["DELETE"]),
    ],
)
async def test_exactly_these_members_have_no_vote(members: set[str], requests: list[str]) -> None:
    world = exclusions_world("busy")
    await opensearch.driver(world).exclude_voters(TARGET, frozenset(members))
    assert [request for request, _, _ in world.told] == [f"{method} {EXCLUSIONS}" for method in requests]
    if "POST" in requests:
        assert world.told[-1][1]["node_names"] == ",".join(sorted(members))
    if "DELETE" in requests:
        assert world.told[0][1] == {"wait_for_removal": "false"}


async def test_moves_go_in_one_request_and_refusals_say_why() -> None:
    decisions = [
        {"decider": "filter", "decision": "YES", "explanation": "node passes"},
        {"decider": "disk_threshold", "decision": "NO", "explanation": "the node is above the high watermark"},
    ]
    parameters = {"index": "a[b", "shard": 3, "from_node": "m-0", "to_node": "m-1"}
    answer = {"acknowledged": True, "explanations": [{"parameters": parameters, "decisions": decisions}]}
    world = Replay(recorded("settled")).put("POST /_cluster/reroute", Answer(200, json.dumps(answer).encode()))
    with pytest.raises(RefusedError, match=r"a\[b\[3\] cannot move from m-0 to m-1: the node is above"):
        await opensearch.driver(world).move_copies(TARGET, (Move("a[b[3]", "m-0", "m-1"),))
    assert world.told[0][2] == {"commands": [{"move": parameters}]}


async def test_a_flush_that_missed_copies_is_an_error() -> None:
    world = Replay(recorded("settled")).put("POST /_flush", Answer(200, b'{"_shards":{"failed":2}}'))
    with pytest.raises(RefusedError, match="2 copies could not be flushed"):
        await opensearch.driver(world).flush(TARGET)
