"""Decodes large answers in a worker process, which has limits of memory and time and then ends.

The decoder holds the interpreter lock until it is done, so a thread would not help: during 32 MiB the process could not
renew its lease. The result comes back in parts, so that none blocks the event loop for long. A process costs about 0.1
s, so small answers are decoded in the operator process.
"""

import asyncio
import os
import resource
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from stateward.engines.connection import base
from stateward.engines.connection.answer_limits import USUAL, mib
from stateward.engines.connection.base import EngineError, GarbledError, RefusedError, TooLargeError, UnreachableError

MEMORY = 320 << 20
"""Limit in bytes of a worker's data; 32 MiB of answers of a real cluster take 190 MiB."""
SECONDS = 15
"""Limit of a worker's processor time, and of its total time before it is killed."""
HEAD = 4
"""Bytes of the length before each frame, in big-endian order."""
PART = USUAL
"""Limit in bytes of a returned frame: the event loop decodes one at a time, so this limits how long the loop blocks."""
_SLICE = 1 << 20
_BEGIN = """\
import os, runpy, sys
sys.path[:] = sys.argv[1].split(os.pathsep)
runpy.run_module(sys.argv[2], run_name="__main__")
"""
"""The program of a worker. It uses its parent's module path, also if a launcher has set that."""

Work = Callable[[Iterator[bytes]], Iterable[bytes]]
"""From the input frames to the result frames; raises EngineError."""


class Failed(Struct, frozen=True):
    """Why there is no result: the first returned frame, which is empty if there is a result."""

    kind: str
    why: str
    status: int = 0

    def error(self) -> EngineError:
        """Return the error that occurred in the worker."""
        if self.kind == RefusedError.__name__:
            return RefusedError(self.why, self.status)
        kind: Callable[[str], EngineError] = getattr(base, self.kind, GarbledError)
        return kind(self.why)


@asynccontextmanager
async def run_in_worker(module: str, frames: Sequence[bytes], what: str) -> AsyncGenerator[AsyncIterator[bytes]]:
    """Provide the frames that the worker `module` makes of `frames`; `what` names the input in errors.

    Raise EngineError, also during iteration.
    """
    size = mib(sum(map(len, frames)))
    places = os.pathsep.join(place for place in sys.path if Path(place).is_absolute())
    command = (sys.executable, "-I", "-c", _BEGIN, places, module)
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=nowhere, env={})
    except OSError as error:
        raise UnreachableError(f"the process that reads large answers cannot be started: {error.strerror}") from error
    try:
        async with asyncio.timeout(SECONDS):
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            await _send(process, frames)
            first = await _frame(process.stdout)
            if first:
                raise msgspec.msgpack.decode(first, type=Failed).error()
            yield _rest(process.stdout)
    except TimeoutError as error:
        raise GarbledError(f"{size} of {what} took more than {SECONDS} s to read") from error
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise GarbledError(f"{size} of {what} could not be read: the process that reads them ended") from error
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _send(process: asyncio.subprocess.Process, frames: Sequence[bytes]) -> None:
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    for frame in frames:
        process.stdin.write(len(frame).to_bytes(HEAD))
        for start in range(0, len(frame), _SLICE):
            process.stdin.write(frame[start : start + _SLICE])
            await process.stdin.drain()
    process.stdin.close()


async def _rest(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while frame := await _frame(stream):
        yield frame
        await asyncio.sleep(0)


async def _frame(stream: asyncio.StreamReader) -> bytes:
    return await stream.readexactly(int.from_bytes(await stream.readexactly(HEAD)))


def serve(work: Work) -> None:
    """Run as the worker: read frames from standard input until it ends, and write the result frames."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    for frame in answer_frames(work, sys.stdin.buffer):
        sys.stdout.buffer.write(len(frame).to_bytes(HEAD) + frame)
    sys.stdout.buffer.flush()


def answer_frames(work: Work, source: BinaryIO) -> Iterator[bytes]:
    """Yield the frames of the answer: an empty one, the result and an empty one; or only a failure."""
    try:
        found = [*work(_received(source))]
        for frame in found:
            if len(frame) > PART:
                raise TooLargeError(f"a part of the decoded answer has {mib(len(frame))}, and the limit is {mib(PART)}")
    except EngineError as error:
        why, status = str(error)[:2000], getattr(error, "status", 0)
        yield msgspec.msgpack.encode(Failed(type(error).__name__, why, status))
    except MemoryError:
        why = f"the answers take more than {mib(MEMORY)} of memory to read"
        yield msgspec.msgpack.encode(Failed(TooLargeError.__name__, why))
    else:
        yield from (b"", *found, b"")


def _received(source: BinaryIO) -> Iterator[bytes]:
    while head := source.read(HEAD):
        size = int.from_bytes(head)
        body = source.read(size)
        if len(body) < size:
            raise GarbledError("the answers were cut off on their way to the process that reads them")
        yield body
