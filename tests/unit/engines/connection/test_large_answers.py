"""Answers that are large, endless, packed, deep or garbage: a picture or a reason, within bounds."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bench.planner import answers
from stateward.engines import opensearch
from stateward.engines.connection import worker
from stateward.engines.connection.answer_limits import LOOK, USUAL, ObservationRoom, Rooms
from stateward.engines.connection.base import Answer, Call, GarbledError, Target, TooLargeError, UnreachableError
from stateward.engines.connection.http import HttpTransport, open_session
from stateward.engines.foundationdb.database import reader as foundationdb
from stateward.engines.foundationdb.database.status import parse_status
from stateward.engines.search.database import reader
from stateward.engines.search.database.reading import Bodies, Expected, read
from stateward.kube.client.exec import TooMuchError
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.foundationdb_shell import ExecShell
from stateward.planning.model.observation import TOO_LARGE, Unknown
from tests.unit.engines.pictures import seen, why_unknown
from tests.unit.engines.replay import PARTS, STATE, STATS, Replay, recorded

EXPECTED = Expected("http://10.0.0.1:9200", answers.NAME, answers.IDENTITY, frozenset({"data"}))


def bodies(shards: int, *, failed: int = 0) -> Bodies:
    _, state, info, stats, cluster = answers.answers(shards, failed=failed).values()
    return Bodies(state, info, stats, cluster)


@pytest.mark.parametrize("failed", [0, answers.SHARDS])
def test_ten_thousand_shards_have_room_also_when_all_their_replicas_failed(failed: int) -> None:
    assert bodies(answers.SHARDS, failed=failed).size * 1.7 < LOOK


async def test_a_process_reads_large_answers_as_they_are_read_here() -> None:
    large = bodies(1500)
    assert large.size > USUAL
    assert await reader.decoded_observation(EXPECTED, large) == read(EXPECTED, large)


async def test_errors_of_the_process_are_those_of_the_answers() -> None:
    large = bodies(1500)
    with pytest.raises(GarbledError, match="gives an answer that cannot be read"):
        await reader.decoded_observation(EXPECTED, Bodies(large.state[:-1], large.info, large.stats, large.settings))


async def test_what_takes_too_much_memory_to_read_is_a_reason() -> None:
    large = bodies(10)
    hostile = b'{"_nodes":{"failed":0},"cluster_name":"x","nodes":{"a":{"name":"a","indices":{"shards":{"a":['
    stats = hostile + b"{}," * (8 << 20) + b"{}]}}}}}"
    with pytest.raises(TooLargeError, match=r"more than 320\.0 MiB of memory to read"):
        await reader.decoded_observation(EXPECTED, Bodies(large.state, large.info, stats, large.settings))


@pytest.mark.parametrize("part", PARTS)
async def test_an_answer_that_is_nested_too_deep_is_unknown(part: str) -> None:
    deep = b'{"unread":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert await why_unknown(Replay(recorded("settled")).put(part, Answer(200, deep)))


def test_a_status_that_is_nested_too_deep_is_garbled() -> None:
    with pytest.raises(GarbledError, match="nested too deep"):
        parse_status('{"unread":' + "[" * 100_000)


async def test_a_database_that_answers_without_end_is_named_with_size_and_limit() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(64):
            await response.write(b" " * (1 << 20))
        return response

    app = web.Application()
    app.router.add_get("/_cluster/state/master_node,blocks", greeting)
    app.router.add_get("/{path:.*}", endless)
    async with TestServer(app) as server, open_session() as session:
        engine = opensearch.driver(HttpTransport(session), Rooms(look=4 << 20))
        found = await engine.observe(Target((str(server.make_url("")).rstrip("/"),), "probe"))
    assert isinstance(found, Unknown)
    assert found.reason == TOO_LARGE
    assert "/_cluster/state/nodes" in found.why
    assert "limit is 4.0 MiB for all answers of one reconciliation" in found.why


async def greeting(request: web.Request) -> web.Response:
    return web.json_response(recorded("settled")["GET /_cluster/state/master_node,blocks"])


async def test_what_is_packed_is_not_unpacked() -> None:
    async def packed(request: web.Request) -> web.Response:
        return web.Response(body=b"x", headers={"Content-Encoding": "gzip"})

    app = web.Application()
    app.router.add_get("/{path:.*}", packed)
    async with TestServer(app) as server, open_session() as session:
        with pytest.raises(GarbledError, match="answers in an encoding that was not requested:"):
            await HttpTransport(session).send(Call(str(server.make_url("")).rstrip("/"), "GET", "/"))


async def failing(look: ObservationRoom) -> None:
    with suppress(TooLargeError):
        async with look as room:
            await room.take(USUAL + 1)
            raise TooLargeError("x")


async def test_a_cluster_whose_large_check_failed_keeps_no_place_from_others() -> None:
    rooms = Rooms(places=1, patience=0.02)
    await failing(rooms.look("ill"))
    async with rooms.look("ill") as ill:
        await ill.take(USUAL + 1)
        async with rooms.look("well") as well:
            await well.take(USUAL + 1)
            with pytest.raises(UnreachableError, match="large answers of other clusters"):
                await rooms.look("third").take(USUAL + 1)
    await rooms.look("third").take(USUAL + 1)


async def test_a_cluster_that_dawdles_with_large_answers_takes_no_place_from_others_the_next_time() -> None:
    rooms = Rooms(places=1, patience=0.02, slow=0.01)
    async with rooms.look("slow") as slow:
        await slow.take(USUAL + 1)
        await asyncio.sleep(0.02)
    async with rooms.look("slow") as slow:
        await slow.take(USUAL + 1)
        async with rooms.look("well") as well:
            await well.take(USUAL + 1)
    async with rooms.look("slow") as slow:
        await slow.take(USUAL + 1)  # It was quick meanwhile, so it has a place as others do.
        with pytest.raises(UnreachableError, match="large answers of other clusters"):
            await rooms.look("well").take(USUAL + 1)


def replicas(body: Any) -> None:
    for index in body["metadata"]["indices"].values():
        index["settings"]["index"]["number_of_replicas"] = "9" * 5000


def since(body: Any) -> None:
    copies = [c for i in body["routing_table"]["indices"].values() for s in i["shards"].values() for c in s]
    info = {"reason": "NODE_LEFT", "at": "0001-01-01", "allocation_status": "no_attempt"}
    copies[-1].update(state="UNASSIGNED", node=None, unassigned_info=info)


def numbered(body: Any) -> None:
    since(body)
    copies = [c for i in body["routing_table"]["indices"].values() for s in i["shards"].values() for c in s]
    copies[-1]["unassigned_info"]["at"] = "2026-11-23T09:00:00Z"
    indices = [(i["shards"], body["metadata"]["indices"][n]) for n, i in body["routing_table"]["indices"].items()]
    for shards, metadata in indices:
        for key in list(shards):
            shards[f"{key}x"] = shards.pop(key)
            metadata["in_sync_allocations"][f"{key}x"] = metadata["in_sync_allocations"].pop(key)


def free(body: Any) -> None:
    for node in body["nodes"].values():
        node["fs"]["total"]["available_in_bytes"] = 10**400


@pytest.mark.parametrize(("part", "edit"), [(STATE, replicas), (STATE, since), (STATE, numbered), (STATS, free)])
async def test_numbers_and_times_beyond_all_bounds_are_unknown(part: str, edit: Callable[[Any], None]) -> None:
    assert await why_unknown(Replay(recorded("settled")).edit(part, edit))


async def test_more_copies_than_a_database_has_are_too_large() -> None:
    def many(body: Any) -> None:
        shards = next(iter(body["routing_table"]["indices"].values()))["shards"]
        shards["0"] = shards["0"][:1] * 100_001

    found = await seen(Replay(recorded("settled")).edit(STATE, many))
    assert isinstance(found, Unknown)
    assert found.reason == TOO_LARGE
    assert "100,0" in found.why


async def test_copies_that_are_in_sync_are_looked_up_once_for_a_shard_and_not_for_each_copy() -> None:
    def many(body: Any) -> None:
        name, routing = next(iter(body["routing_table"]["indices"].items()))
        copies = [{**routing["shards"]["0"][0], "primary": False} for _ in range(3000)]
        routing["shards"]["0"] = [*routing["shards"]["0"][:1], *copies]
        body["metadata"]["indices"][name]["in_sync_allocations"]["0"] = [str(i) for i in range(30_000)]

    world = Replay(recorded("settled")).edit(STATE, many)
    began = time.process_time()
    await seen(world)
    assert time.process_time() - began < 0.5, "looked up for each copy it takes seconds"


def status_of(processes: int, padding: int = 0) -> str:
    one = {"address": "10.42.17.203:4500", "class_type": "storage", "locality": {"instance_id": "a"}, "roles": []}
    noise = "x" * padding
    found = {f"{number:032x}": {**one, "unread": noise} for number in range(processes)}
    return json.dumps({"client": {"timestamp": 1.5}, "cluster": {"processes": found, "database_available": True}})


async def test_a_worker_reads_a_large_status_as_it_is_read_here() -> None:
    output = status_of(800, 2000)
    assert len(output) > USUAL
    assert await foundationdb.status(output) == parse_status(output)
    empty = output.replace('"processes"', '"others"')
    assert await foundationdb.status(empty) == parse_status(empty)


async def test_a_status_of_more_than_is_kept_is_too_large() -> None:
    parts = '{"client": {"messages": [' + '{"name": "a"},' * 100_000 + "{}]}}"
    with pytest.raises(TooLargeError, match=r"limit is 1\.0 MiB"):
        await foundationdb.status(parts)


async def test_only_a_status_may_be_long() -> None:
    limits: list[int] = []

    async def execute(key: Key, container: str, words: Sequence[str], limit: int) -> bytes:
        limits.append(limit)
        raise TooMuchError("much")

    for command in ("status json", "exclude a"):
        with pytest.raises(
            TooLargeError, match=rf"logs-0: fdbcli answers `{command}` with more than the limit of \d\.0 MiB"
        ):
            await ExecShell(execute).run("data/logs-0", command, 1)
    assert limits == [8 << 20, USUAL]


async def test_a_worker_that_cannot_be_started_or_ends_early_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(UnreachableError, match="the process that reads large answers cannot be started:"):
        await reader.decoded_observation(EXPECTED, bodies(1500))
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(GarbledError, match=r"MiB of answers of .* could not be read: the process"):
        await reader.decoded_observation(EXPECTED, bodies(1500))


def test_a_worker_finds_its_modules_where_its_parent_was_told_that_they_are() -> None:
    """As in an image whose launcher adds the folder: the interpreter itself knows nothing of it."""
    places = [place for place in (str(Path(__file__).parents[4]), *sys.path) if place]
    program = f"""if True:
        import asyncio, sys
        sys.path[:0] = {places!r}
        from stateward.engines.search.database import reader
        from tests.unit.engines.connection.test_large_answers import EXPECTED, bodies
        asyncio.run(reader.decoded_observation(EXPECTED, bodies(1500)))
    """
    python = getattr(sys, "_base_executable", sys.executable)
    done = subprocess.run([python, "-I", "-c", program], env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def test_a_worker_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\necho $$ > $0.pid\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(worker, "SECONDS", 0.5)
    with pytest.raises(GarbledError, match=r"took more than 0\.5 s to read"):
        await reader.decoded_observation(EXPECTED, bodies(1500))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "slow.pid").read_text()), 0)
