"""The driver against a real OpenSearch of three nodes on loopback."""

import asyncio
import json
import shutil
import signal
import tempfile
import zipfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import aiohttp
import msgspec
import pytest

from sandbox.images import pins
from sandbox.images.maven import fetch
from sandbox.progress import Progress
from stateward.api.values.base import Json
from stateward.engines import opensearch
from stateward.engines.connection.base import Call, Engine, RefusedError
from stateward.engines.connection.http import HttpTransport
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import Allocation, CopyState, Database, Health, Unit, Unknown
from tests.integration.clusters.opensearch_processes import NODES, Processes, form, until

pytestmark = [pytest.mark.integration]


@pytest.fixture(scope="module", params=["2.19.5", pytest.param("1.3.20", marks=pytest.mark.full)])
def processes(request: pytest.FixtureRequest) -> Iterator[Processes]:
    """Start a cluster whose candidate gets its leave only after the others were seen to wait."""
    version = str(request.param)
    archive = fetch(pins.opensearch_home(version), Progress(quiet=True))
    root = Path(tempfile.mkdtemp(prefix="stateward-opensearch-"))
    root.chmod(0o755)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(root)
    cluster = Processes(root, version)
    try:
        for node in cluster.nodes:
            node.lay_out(root / f"opensearch-{version}")
        cluster.publish_seeds()
        for node in cluster.nodes:
            node.start()
        asyncio.run(form(cluster))
        yield cluster
    finally:
        for node in cluster.nodes:
            node.stop(signal.SIGTERM)
        shutil.rmtree(root)


@pytest.fixture
async def transport() -> AsyncGenerator[HttpTransport]:
    async with aiohttp.ClientSession() as session:
        yield HttpTransport(session)


@pytest.fixture
def engine(transport: HttpTransport) -> Engine:
    return opensearch.driver(transport)


@pytest.fixture
async def indices(processes: Processes, transport: HttpTransport) -> AsyncGenerator[None]:
    """Make an index of two shards with a replica, and one without, and take them away afterwards."""
    for name, replicas in (("logs", 1), ("single", 0)):
        settings = {"settings": {"number_of_shards": 2 - name.count("single"), "number_of_replicas": replicas}}
        await put(processes, transport, f"/{name}", settings)
    yield
    await transport.send(Call(endpoint(processes), "DELETE", "/logs,single"))


def endpoint(processes: Processes) -> str:
    return processes.target().endpoints[0]


async def put(processes: Processes, transport: HttpTransport, path: str, body: Json) -> None:
    answer = await transport.send(Call(endpoint(processes), "PUT", path, body=body))
    assert answer.status == 200, answer.body


async def settings(processes: Processes, transport: HttpTransport) -> dict[str, dict[str, str]]:
    answer = await transport.send(
        Call(endpoint(processes), "GET", "/_cluster/settings", params={"flat_settings": "true"})
    )
    return json.loads(answer.body)


async def picture(processes: Processes, engine: Engine) -> Database:
    seen = await engine.observe(processes.target())
    assert isinstance(seen, Database), seen
    return seen


async def green(processes: Processes, engine: Engine) -> Database:
    seen = await until(processes, engine, lambda seen: isinstance(seen, Database) and seen.health is Health.GREEN)
    assert isinstance(seen, Database)
    return seen


def unit(seen: Database, name: str) -> Unit:
    return next(unit for unit in seen.units if unit.name == name)


def test_no_process_forms_a_cluster_without_permission(processes: Processes) -> None:
    assert isinstance(processes.before_leave, Unknown)
    assert "waiting for the operator's leave" in processes.nodes[0].log.read_text()
    assert "has leave to form the cluster" in processes.nodes[0].log.read_text()


async def test_the_picture_is_whole(processes: Processes, engine: Engine, indices: None) -> None:
    seen = await green(processes, engine)
    names = {node.name for node in processes.nodes}
    assert seen.nodes.keys() == names == seen.voters
    assert seen.leader in names
    assert all(node.data and node.voting and 0 < node.disk_free < node.disk_total for node in seen.nodes.values())
    assert {node.version for node in seen.nodes.values()} == {processes.cluster.spec.version}
    assert {(unit.name, unit.wanted, len(unit.copies)) for unit in seen.units} == {
        ("logs[0]", 2, 2),
        ("logs[1]", 2, 2),
        ("single[0]", 1, 1),
    }
    assert all(copy.live for unit in seen.units for copy in unit.copies)
    assert all(unit.size > 0 for unit in seen.units)


async def test_only_the_expected_cluster_is_read(processes: Processes, engine: Engine) -> None:
    seen = await picture(processes, engine)
    assert isinstance(await engine.observe(processes.target(identity=seen.identity)), Database)
    foreign = await engine.observe(processes.target(identity="another"))
    assert isinstance(foreign, Unknown)
    assert "another cluster answers" in foreign.why
    renamed = await engine.observe(msgspec.structs.replace(processes.target(), name="ns.other"))
    assert isinstance(renamed, Unknown)


async def test_the_limit_on_allocation_gives_back_what_was_set(
    processes: Processes, engine: Engine, transport: HttpTransport
) -> None:
    enable = "cluster.routing.allocation.enable"
    before = {"persistent": {enable: "new_primaries"}, "transient": {enable: "all"}}
    await put(processes, transport, "/_cluster/settings", before)
    await engine.limit_allocation(processes.target(), Allocation.PRIMARIES)
    await engine.limit_allocation(processes.target(), Allocation.PRIMARIES)
    seen = await picture(processes, engine)
    assert (seen.allocation, seen.limited) == (Allocation.PRIMARIES, True)
    await engine.restore_allocation(processes.target())
    await engine.restore_allocation(processes.target())
    assert await settings(processes, transport) == before
    assert not (await picture(processes, engine)).limited
    nothing = {"persistent": {enable: None}, "transient": {enable: None}}
    await put(processes, transport, "/_cluster/settings", nothing)


async def test_a_drained_member_holds_nothing_and_comes_back_into_use(
    processes: Processes, engine: Engine, transport: HttpTransport, indices: None
) -> None:
    exclude = "cluster.routing.allocation.exclude._name"
    await put(processes, transport, "/_cluster/settings", {"persistent": {exclude: "theirs-1"}})
    leaver = processes.nodes[2].name
    await engine.drain(processes.target(), frozenset({leaver}))
    empty = await until(
        processes,
        engine,
        lambda seen: (
            isinstance(seen, Database)
            and all(leaver not in (copy.member, copy.target) for unit in seen.units for copy in unit.copies)
        ),
    )
    assert isinstance(empty, Database)
    assert empty.draining == {leaver}
    await engine.drain(processes.target(), frozenset())
    assert (await settings(processes, transport))["persistent"] == {exclude: "theirs-1"}
    await put(processes, transport, "/_cluster/settings", {"persistent": {exclude: None}})


async def test_voters_are_excluded_present_or_not_and_given_their_vote_back(
    processes: Processes, engine: Engine
) -> None:
    first, second = processes.nodes[1].name, processes.nodes[2].name
    await engine.exclude_voters(processes.target(), frozenset({first, "gone-1"}))
    seen = await picture(processes, engine)
    assert seen.voting_exclusions == {first, "gone-1"}
    assert first not in seen.voters
    await engine.exclude_voters(processes.target(), frozenset({second}))
    seen = await picture(processes, engine)
    assert seen.voting_exclusions == {second}
    assert second not in seen.voters
    await engine.exclude_voters(processes.target(), frozenset())
    await until(processes, engine, lambda seen: isinstance(seen, Database) and len(seen.voters) == NODES)


@pytest.fixture
async def unbalanced(processes: Processes, engine: Engine, transport: HttpTransport) -> AsyncGenerator[None]:
    """Keep the database from moving copies of its own accord: one on its way cannot be moved, for that reason."""
    rebalance = "cluster.routing.rebalance.enable"
    await put(processes, transport, "/_cluster/settings", {"persistent": {rebalance: "none"}})
    yield
    await engine.resume_balancing(processes.target())
    await put(processes, transport, "/_cluster/settings", {"persistent": {rebalance: None}})


def holder(seen: Database, name: str) -> str:
    """Return where the first copy of a unit is."""
    return unit(seen, name).copies[0].member


def at_rest(seen: Database | Unknown) -> bool:
    """Whether every copy is where it stays."""
    if not isinstance(seen, Database) or seen.health is not Health.GREEN:
        return False
    return all(copy.state is CopyState.STARTED for each in seen.units for copy in each.copies)


async def test_single_copies_move_and_impossible_moves_say_why(
    processes: Processes, engine: Engine, indices: None, unbalanced: None
) -> None:
    seen = await until(processes, engine, at_rest)
    assert isinstance(seen, Database)
    only = unit(seen, "single[0]").copies[0].member
    other = next(name for name in sorted(seen.nodes) if name != only)
    await engine.move_copies(processes.target(), (Move("single[0]", only, other),))
    await until(processes, engine, lambda seen: isinstance(seen, Database) and holder(seen, "single[0]") == other)
    moved = await until(processes, engine, at_rest)
    assert isinstance(moved, Database)
    assert holder(moved, "single[0]") == other
    one, two = (copy.member for copy in unit(moved, "logs[0]").copies)
    with pytest.raises(RefusedError, match=r"logs\[0\] cannot move .* a copy of this shard is already allocated"):
        await engine.move_copies(processes.target(), (Move("logs[0]", one, two),))


async def test_balancing_rests_while_copies_move_and_what_was_set_is_given_back(
    processes: Processes, engine: Engine, transport: HttpTransport, indices: None
) -> None:
    rebalance = "cluster.routing.rebalance.enable"
    before = {"persistent": {rebalance: "replicas"}, "transient": {rebalance: "all"}}
    await put(processes, transport, "/_cluster/settings", before)
    seen = await until(processes, engine, at_rest)
    assert isinstance(seen, Database)
    only = holder(seen, "single[0]")
    other = next(name for name in sorted(seen.nodes) if name != only)
    await engine.move_copies(processes.target(), (Move("single[0]", only, other),))
    now = await settings(processes, transport)
    assert (now["persistent"][rebalance], now["transient"]) == ("none", {})
    moved = await until(processes, engine, at_rest)
    assert isinstance(moved, Database)
    assert moved.balance_paused
    await engine.resume_balancing(processes.target())
    await engine.resume_balancing(processes.target())
    assert await settings(processes, transport) == before
    assert not (await picture(processes, engine)).balance_paused
    await put(
        processes, transport, "/_cluster/settings", {"persistent": {rebalance: None}, "transient": {rebalance: None}}
    )


async def test_a_replica_that_no_node_may_take_is_held_and_says_why(
    processes: Processes, engine: Engine, transport: HttpTransport
) -> None:
    only = processes.nodes[0].name
    await put(
        processes,
        transport,
        "/pinned",
        {
            "settings": {
                "number_of_shards": 1,
                "number_of_replicas": 1,
                "index.routing.allocation.require._name": only,
            }
        },
    )
    seen = await until(
        processes,
        engine,
        lambda seen: isinstance(seen, Database) and any(c.held for c in unit(seen, "pinned[0]").copies),
    )
    assert isinstance(seen, Database)
    assert seen.health is Health.YELLOW
    held = next(copy for copy in unit(seen, "pinned[0]").copies if copy.held)
    assert held.why.startswith("index created; filter on ")
    await transport.send(Call(endpoint(processes), "DELETE", "/pinned"))


async def test_a_flush_reaches_every_copy(processes: Processes, engine: Engine, indices: None) -> None:
    await engine.flush(processes.target())


async def test_without_a_quorum_nothing_is_known_and_all_comes_back(
    processes: Processes, engine: Engine, indices: None
) -> None:
    await green(processes, engine)
    statuses = [node.stop() for node in processes.nodes[1:]]
    assert statuses == [143, 143]
    assert all("closed" in node.log.read_text(errors="replace")[-500:] for node in processes.nodes[1:])
    lost = await until(processes, engine, lambda seen: isinstance(seen, Unknown))
    assert isinstance(lost, Unknown)
    assert "no cluster manager" in lost.why
    for node in processes.nodes[1:]:
        node.start()
    whole = await until(processes, engine, served_again)
    assert isinstance(whole, Database)
    assert whole.nodes.keys() == {node.name for node in processes.nodes}
    assert {unit.name for unit in whole.units} == {"logs[0]", "logs[1]", "single[0]"}


def served_again(seen: Database | Unknown) -> bool:
    """Whether all nodes are back and every shard is served; replicas may still be on their way."""
    if not isinstance(seen, Database) or len(seen.nodes) < NODES:
        return False
    return all(any(copy.live for copy in unit.copies) for unit in seen.units)
