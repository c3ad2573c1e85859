"""The worker that decodes the large statuses of FoundationDB: see `stateward.engines.connection.worker`."""

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec
from msgspec import structs

from stateward.engines.connection.answer_limits import USUAL
from stateward.engines.connection.worker import run_in_worker, serve
from stateward.engines.foundationdb.database.status import Process, Status, parse_status

PROCESSES = 300
"""Processes in one message from the worker: decoding them takes some milliseconds of the event loop."""


async def status(output: str, usual: int = USUAL) -> Status:
    """Return a decoded status; raise `EngineError` if there is none.

    A status up to the usual size is decoded in this process, a larger one in a worker.
    """
    if len(output) <= usual:
        return parse_status(output)
    async with run_in_worker(__name__, (output.encode(errors="replace"),), "a status of fdbcli") as parts:
        found = msgspec.msgpack.decode(await anext(parts), type=Status)
        processes: dict[str, Process] = {}
        async for part in parts:
            processes |= msgspec.msgpack.decode(part, type=dict[str, Process])
    return _with(found, processes) if processes else found


def status_frames(frames: Iterator[bytes]) -> Iterable[bytes]:
    """Yield the status without its processes, then the processes; raise `EngineError` if there is no status."""
    found = parse_status(next(frames))
    processes = found.cluster.processes
    yield msgspec.msgpack.encode(_with(found, {}) if processes else found)
    rest = iter((processes or {}).items())
    while some := dict(islice(rest, PROCESSES)):
        yield msgspec.msgpack.encode(some)


def _with(found: Status, processes: dict[str, Process]) -> Status:
    return structs.replace(found, cluster=structs.replace(found.cluster, processes=processes))


if __name__ == "__main__":
    serve(status_frames)
