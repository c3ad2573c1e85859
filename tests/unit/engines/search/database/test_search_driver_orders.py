"""The commands of the search driver, and its handling of refusals."""

import json

import pytest

from stateward.api.values.base import Json
from stateward.engines import opensearch
from stateward.engines.connection.base import AnotherClusterError, Answer, Call, GarbledError, RefusedError
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import Allocation
from tests.unit.engines.pictures import picture
from tests.unit.engines.replay import GREETING, NODES, STATE, TARGET, Replay, recorded, rename


async def test_nothing_is_sent_to_another_cluster() -> None:
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


GONE = "Zzb0vM5eQkWJ2Fw1Ut7RrA"


def departed(world: Replay, *excluded: Json) -> Replay:
    """Let the configuration count a node that is not there, and some nodes have no vote."""

    def change(state: Json) -> None:
        said = state["metadata"]["cluster_coordination"]
        said["last_committed_config"].append(GONE)
        said["voting_config_exclusions"] = list(excluded)

    return world.edit(STATE, change)


async def test_a_voter_that_is_not_there_is_known_by_its_id_alone() -> None:
    database = await picture(departed(Replay(recorded("settled")), {"node_id": GONE, "node_name": "_absent_"}))
    assert database.nameless == {GONE}
    assert GONE in database.voters
    assert database.voting_exclusions == {GONE}
    assert not (await picture(Replay(recorded("settled")))).nameless


async def test_voters_that_are_not_there_lose_their_votes_by_id_in_a_request_of_their_own() -> None:
    world = departed(exclusions_world("settled"))
    await opensearch.driver(world).exclude_voters(TARGET, frozenset({"m-2", GONE}))
    assert [fields for _, fields, _ in world.told] == [
        {"node_names": "m-2", "timeout": "10s"},
        {"node_ids": GONE, "timeout": "10s"},
    ]


class Rerouting(Replay):
    """A database that accepts moves to some nodes."""

    good = frozenset[str]()

    async def send(self, call: Call) -> Answer:
        if call.path != "/_cluster/reroute":
            return await super().send(call)
        self.asked.append((f"{call.method} {call.path}", call.params or {}, call.body))
        moves = [each["move"] for each in (call.body or {})["commands"]]
        answer = {"acknowledged": True, "explanations": [self.explained(move) for move in moves]}
        return Answer(200, json.dumps(answer).encode())

    def explained(self, move: Json) -> Json:
        verdict = "YES" if move["to_node"] in self.good else "NO"
        decisions = [
            {"decider": "filter", "decision": "YES", "explanation": "node passes"},
            {"decider": "disk_threshold", "decision": verdict, "explanation": "the node is above the high watermark"},
        ]
        return {"parameters": move, "decisions": decisions}


def rerouting(*good: str) -> Rerouting:
    world = Rerouting(recorded("settled"))
    world.good = frozenset(good)
    world.put("PUT /_cluster/settings", Answer(200, b'{"acknowledged":true}'))
    return world


async def test_a_move_that_is_refused_to_every_target_says_why_and_pauses_nothing() -> None:
    world = rerouting()
    with pytest.raises(RefusedError, match=r"a\[b\[3\] cannot move from m-0 to m-2: the node is above"):
        await opensearch.driver(world).move_copies(TARGET, (Move("a[b[3]", "m-0", "m-1", ("m-2",)),))
    assert [fields.get("dry_run") for _, fields, _ in world.told] == ["true", "true"]


async def test_moves_go_in_one_request_each_to_the_first_target_that_the_database_accepts() -> None:
    world = rerouting("m-1", "m-2")
    moves = (Move("a[b[3]", "m-0", "m-3", ("m-2", "m-1")), Move("c[0]", "m-0", "m-1"), Move("d[0]", "m-0", "m-3"))
    with pytest.raises(RefusedError, match=r"^d\[0\] cannot move from m-0 to m-3: [^;]*$"):
        await opensearch.driver(world).move_copies(TARGET, moves)
    *_, paused, moved = world.told
    assert paused[2] is not None
    assert paused[2]["persistent"]["cluster.routing.rebalance.enable"] == "none", "before anything moves"
    assert "dry_run" not in moved[1]
    assert moved[2] is not None
    sent = [(each["move"]["index"], each["move"]["to_node"]) for each in moved[2]["commands"]]
    assert sent == [("c", "m-1"), ("a[b", "m-2")]


async def test_an_answer_without_all_moves_is_no_answer() -> None:
    world = Replay(recorded("settled")).put("POST /_cluster/reroute", Answer(200, b'{"acknowledged":true}'))
    with pytest.raises(GarbledError, match="explains 0 of 1 moves"):
        await opensearch.driver(world).move_copies(TARGET, (Move("a[0]", "m-0", "m-1"),))


async def test_a_flush_that_missed_copies_is_an_error() -> None:
    world = Replay(recorded("settled")).put("POST /_flush", Answer(200, b'{"_shards":{"failed":2}}'))
    with pytest.raises(RefusedError, match="2 copies could not be flushed"):
        await opensearch.driver(world).flush(TARGET)
