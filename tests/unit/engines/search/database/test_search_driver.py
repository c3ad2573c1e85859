"""The observation from a real cluster's responses."""

import asyncio
from typing import Any

import pytest

from stateward.engines.connection.base import Answer, Call
from stateward.engines.search.database import driver, explain
from stateward.engines.search.database.explain import EVERYWHERE
from stateward.planning.model.observation import Allocation, Copy, CopyState, Database, Health
from tests.unit.engines import replay
from tests.unit.engines.pictures import picture, seen, unit
from tests.unit.engines.replay import EXPLAIN, INFO, NODES, PARTS, STATE, Replay, recorded


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


async def test_a_node_that_only_votes_is_never_elected() -> None:
    def change(body: Any) -> None:
        for node in body["nodes"].values():
            node["roles"] = ["master", "voting_only"] if node["name"] == "m-1" else ["data", "master"]

    nodes = (await picture(Replay(recorded("settled")).edit(INFO, change))).nodes
    assert {name for name, node in nodes.items() if node.electable} == {"m-0", "m-2"}
    assert all(node.voting for node in nodes.values())


def created(numbers: dict[str, str], **more: Any) -> Replay:
    """Return a world in which the indices were created by versions with these numbers."""

    def change(body: Any) -> None:
        for name, number in numbers.items():
            body["metadata"]["indices"][name]["settings"]["index"] |= {"version": {"created": number}} | more

    return Replay(recorded("settled")).edit(STATE, change)


OF_1, OF_2, OF_3, OF_ELASTICSEARCH = "135249827", "136408327", "137257827", "7100299"


@pytest.mark.parametrize(
    ("logs", "single", "version", "named"),
    [
        (OF_2, OF_2, "4.0.0", "logs, single"),
        (OF_1, OF_2, "3.0.0", "logs"),
        (OF_3, OF_2, "4.0.0", "single"),
        (OF_2, OF_ELASTICSEARCH, "3.0.0", "single"),
        (OF_3, OF_3, "5.0.0", "logs, single"),
    ],
)
async def test_the_oldest_indices_say_which_version_cannot_read_them(
    logs: str, single: str, version: str, named: str
) -> None:
    barrier = (await picture(created({"logs": logs, "single": single}))).barrier
    assert barrier is not None
    assert barrier.version == version
    assert f"has created: {named}; reindex" in barrier.why


async def test_indices_of_unknown_age_and_those_that_are_read_one_version_longer_are_no_barrier() -> None:
    assert (await picture(Replay(recorded("settled")))).barrier is None
    assert (await picture(created({"logs": "new", "single": ""}))).barrier is None
    assert (await picture(created({"logs": OF_1, "single": OF_1}, verified_read_only="true"))).barrier is None
    assert (await picture(created({"logs": OF_1, "single": OF_1}, store={"type": "snapshot"}))).barrier is None
    mounted = {"created": OF_1, "compatibility": OF_2}
    barrier = (await picture(created({"logs": OF_1}, version=mounted))).barrier
    assert barrier is not None
    assert barrier.version == "4.0.0"


async def test_what_the_nodes_have_passed_already_hides_no_other_barrier() -> None:
    world = created({"logs": OF_1, "single": OF_2})

    def newer(body: Any) -> None:
        for node in body["nodes"].values():
            node["version"] = "3.4.0"

    barrier = (await picture(world.edit(INFO, newer))).barrier
    assert barrier is not None
    assert barrier.version == "4.0.0"
    assert "has created: single" in barrier.why


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


class Slow(Replay):
    """It does not explain a copy within any time that the driver has."""

    async def send(self, call: Call) -> Answer:
        if call.path == EXPLAIN.partition(" ")[2]:
            await asyncio.Event().wait()
        return await super().send(call)


async def test_a_database_that_explains_its_copies_too_slowly_is_observed_without_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A large cluster explained a copy in a second: with many of them unassigned, there was no observation at all."""
    monkeypatch.setattr(driver, "LOOK_PATIENCE", 0.5)
    monkeypatch.setattr(explain, "PATIENCE", 0.1)
    copies = missing(await picture(Slow(recorded("busy"))), "pinned[0]")
    assert copies
    assert not any(copy.held for copy in copies)


async def test_nothing_is_held_while_the_allocation_is_limited() -> None:
    database = await picture(Replay(recorded("limited")))
    assert (database.allocation, database.limited, database.draining) == (Allocation.PRIMARIES, True, {"m-2"})
    assert not any(copy.held for u in database.units for copy in u.copies)


async def test_one_check_is_a_few_requests() -> None:
    world = Replay(recorded("settled"))
    await seen(world)
    assert [request for request, _, _ in world.asked] == list(PARTS)
    assert not world.told
