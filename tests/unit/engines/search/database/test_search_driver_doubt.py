"""Each response except the complete one of the expected cluster becomes Unknown."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.engines.connection.base import Answer, Call, UnreachableError
from stateward.planning.model.observation import Database, Health
from tests.unit.engines.pictures import picture, seen, unit, why_unknown
from tests.unit.engines.replay import ENDPOINT, GREETING, INFO, PARTS, STATE, STATS, TARGET, Replay, recorded, rename

Edit = Callable[[Any], None]
OTHER = "http://10.0.0.2:9200"


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
        (unheard_state, "gives an answer that cannot be read"),
        (lose_manager, "no cluster manager is elected"),
        (not_recovered, "not recovered yet"),
        (double_name, "two nodes in the cluster have the same name"),
    ],
)
async def test_a_state_that_contradicts_itself_is_unknown(change: Edit, why: str) -> None:
    assert why in await why_unknown(Replay(recorded("settled")).edit(STATE, change))


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

    assert "1 node in the cluster does not answer" in await why_unknown(Replay(recorded("settled")).edit(part, fail))
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


class Refusing(Replay):
    """One of its nodes refuses everything."""

    async def send(self, call: Call) -> Answer:
        return Answer(401, b"") if call.endpoint == OTHER else await super().send(call)


async def test_a_node_that_refuses_everything_does_not_hide_the_others() -> None:
    """Its users were not those of the others yet: the whole cluster was unknown."""
    world, target = Refusing(recorded("settled")), replace(TARGET, endpoints=(OTHER, ENDPOINT))
    assert isinstance(await seen(world, target), Database)
    assert f"{OTHER}/_cluster/state/master_node,blocks: 401" in await why_unknown(
        world, replace(TARGET, endpoints=(OTHER, OTHER))
    )


async def test_without_an_address_nothing_is_known() -> None:
    why = await why_unknown(Replay(recorded("settled")), replace(TARGET, endpoints=()))
    assert why == "no member has an address yet"


async def test_the_most_telling_failure_is_reported() -> None:
    world = Replay(recorded("settled")).edit(GREETING, rename)
    target = replace(TARGET, endpoints=("http://10.9.9.9:9200", ENDPOINT, "http://10.9.9.8:9200"))
    assert "another cluster answers" in await why_unknown(world, target)
