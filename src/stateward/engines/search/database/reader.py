"""The worker that decodes the large answers of a search engine: see `stateward.engines.connection.worker`."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import structs

from stateward.engines.connection.answer_limits import USUAL
from stateward.engines.connection.base import GarbledError
from stateward.engines.connection.worker import run_in_worker, serve
from stateward.engines.search.database.reading import Bodies, Expected, read
from stateward.planning.model.observation import Database, Unit

COPIES = 2000
"""Copies in one message from the worker: decoding them takes 10 ms of the event loop."""


async def decoded_observation(expected: Expected, bodies: Bodies, usual: int = USUAL) -> Database:
    """Return the decoded observation; raise `EngineError` if there is none.

    Answers up to the usual size are decoded in this process, larger ones in a worker.
    """
    if bodies.size <= usual:
        return read(expected, bodies)
    frames = (msgspec.msgpack.encode(expected), bodies.state, bodies.info, bodies.stats, bodies.settings)
    async with run_in_worker(__name__, frames, f"answers of {expected.endpoint}") as parts:
        head = msgspec.msgpack.decode(await anext(parts), type=Database)
        units: list[Unit] = []
        async for part in parts:
            units += msgspec.msgpack.decode(part, type=list[Unit])
    return structs.replace(head, units=tuple(units))


def observation_frames(frames: Iterator[bytes]) -> Iterable[bytes]:
    """Yield the observation without its units, then the units; raise `EngineError` if there is no observation."""
    expected, *bodies = frames
    if len(bodies) != len(structs.fields(Bodies)):
        raise GarbledError("an answer is missing")
    found = read(msgspec.msgpack.decode(expected, type=Expected), Bodies(*bodies))
    yield msgspec.msgpack.encode(structs.replace(found, units=()))
    for some in grouped(found.units):
        yield msgspec.msgpack.encode(some)


def grouped(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Yield the units in groups of about `COPIES` copies."""
    some: list[Unit] = []
    copies = 0
    for unit in units:
        some.append(unit)
        copies += len(unit.copies)
        if copies >= COPIES:
            yield some
            some, copies = [], 0
    if some:
        yield some


if __name__ == "__main__":
    serve(observation_frames)
