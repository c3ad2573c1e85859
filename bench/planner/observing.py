"""What a look at a cluster of 10,000 shards costs, and for how long the event loop stands still meanwhile.

The answers come over real sockets from a process of their own. A ticker on the loop measures how late it is called: as
late would a lease be renewed.
"""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

from bench.planner import answers
from bench.table import Row
from stateward.engines import opensearch
from stateward.engines.connection.base import Target
from stateward.engines.connection.http import HttpTransport, open_session
from stateward.engines.foundationdb.database.reader import status
from stateward.engines.foundationdb.database.status import Status
from stateward.engines.search.database.reading import Bodies, Expected, read
from stateward.kube.timing.background import in_background
from stateward.planning.model.observation import Database

TICK = 0.005
TIMES = 3
CASES = {
    "one replica": (answers.SHARDS, 1, 0),
    "two replicas": (answers.SHARDS, 2, 0),
    "every replica failed to recover": (answers.SHARDS, 1, answers.SHARDS),
    "35,000 shards, one replica": (35_000, 1, 0),
}
"""Shards, replicas, and shards whose replica tells at length why it is not there."""
Look = Callable[[], Awaitable[object]]


def measure() -> list[Row]:
    """Return the sizes of answers, and time and longest stall of looks."""
    return asyncio.run(_measured())


async def _measured() -> list[Row]:
    rows: list[Row] = []
    for name, (shards, replicas, failed) in CASES.items():
        async with served(shards, replicas, failed) as url, open_session() as session:
            engine = opensearch.driver(HttpTransport(session))
            target = Target((url,), answers.NAME, answers.IDENTITY)
            bodies = _bodies(answers.answers(shards, replicas, failed=failed))
            expected = Expected(url, answers.NAME, answers.IDENTITY, frozenset({"data"}))
            found = [await stalled(lambda engine=engine, target=target: engine.observe(target)) for _ in range(TIMES)]
            here = [await stalled(lambda e=expected, b=bodies: _here(e, b)) for _ in range(TIMES)]
        took, late = (sorted(each)[TIMES // 2] for each in zip(*found, strict=True))
        alone = sorted(one for _, one in here)[TIMES // 2]
        what = f"a look at {shards:,} shards, {name}" if shards == answers.SHARDS else f"a look at {name}"
        rows.append(
            Row(
                f"{what}: size of the answers / time / longest stall of the loop",
                f"{bodies.size / (1 << 20):.1f} MiB / {took:.2f} s / {late * 1000:.0f} ms",
                "0.1 s",
                f"read on the loop it stands still for {alone * 1000:.0f} ms: {alone / late:.0f} times as long",
            )
        )
    return [*rows, await _status()]


def _bodies(found: dict[str, bytes]) -> Bodies:
    _, state, info, stats, settings = found.values()
    return Bodies(state, info, stats, settings)


async def _here(expected: Expected, bodies: Bodies) -> Database:
    return read(expected, bodies)


async def _status() -> Row:
    """Return how long a status of FoundationDB keeps the loop, of the most that is read."""
    process: dict[str, object] = {
        "address": "10.42.17.203:4500",
        "class_type": "storage",
        "excluded": False,
        "locality": {},
        "roles": [],
    }
    noise = {"counters": {"hz": 1.25, "counter": 17, "roughness": 0.25}, "latency": {"p99": 0.001}}
    process |= {f"unread_{number}": noise for number in range(90)}
    processes = {f"{number:032x}": process for number in range(800)}
    output = msgspec.json.encode({"client": {}, "cluster": {"processes": processes}}).decode()
    took, late = await stalled(lambda: status(output))
    return Row(
        "a status of 800 FoundationDB processes: size / time / longest stall of the loop",
        f"{len(output) / (1 << 20):.1f} MiB / {took:.2f} s / {late * 1000:.0f} ms",
        "0.1 s",
    )


async def stalled(look: Look) -> tuple[float, float]:
    """Return the seconds that a look takes, and by how many the loop was late at most."""
    late = 0.0

    async def tick() -> None:
        nonlocal late
        while True:
            before = time.perf_counter()
            await asyncio.sleep(TICK)
            late = max(late, time.perf_counter() - before - TICK)

    async with in_background(tick()):
        await asyncio.sleep(TICK * 4)
        late, began = 0.0, time.perf_counter()
        found = await look()
        took = time.perf_counter() - began
        await asyncio.sleep(TICK * 2)
    if not isinstance(found, (Database, Status)):
        raise RuntimeError(f"there is no picture: {found}")  # noqa: TRY004 - as a measurement that fails
    return took, late


@asynccontextmanager
async def served(shards: int, replicas: int, failed: int) -> AsyncGenerator[str]:
    """Serve a cluster's answers in a process of its own while the block runs; the value is its base URL."""
    command = (sys.executable, "-m", "bench.planner.answering", str(shards), str(replicas), str(failed))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        yield (await process.stdout.readline()).decode().strip() if process.stdout else ""
    finally:
        process.kill()
        await process.wait()
