"""One question and one answer over TCP: a line of JSON each way, with the protocol of whoever asks."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

Message = dict[str, Any]
PATIENCE = 1.5
"""Seconds to connect and get an answer."""
GRACE = 0.2
"""Seconds that the last ones get when most have answered."""
LIMIT = 8 * 2**20


class SilentError(Exception):
    """Nobody answered."""


class RefusedError(SilentError):
    """Nothing listens there: the process has ended."""


async def ask(address: str, message: Message, patience: float = PATIENCE) -> Message:
    """Ask the process at `host:port`; raises SilentError."""
    host, _, port = address.removesuffix(":tls").rpartition(":")
    try:
        async with asyncio.timeout(patience):
            return await _exchange(host.strip("[]"), int(port), message)
    except ConnectionRefusedError as error:
        raise RefusedError(str(error)) from error
    except (TimeoutError, OSError, ValueError) as error:
        raise SilentError(str(error)) from error


async def most(questions: Sequence[Awaitable[Message]]) -> list[Message | None]:
    """Return the answers, None for each that did not come; nobody is waited for when most have answered.

    A machine without power refuses nothing: whoever waits for it at every step loses its lease over it.
    """
    tasks = [asyncio.ensure_future(question) for question in questions]
    pending, end = set(tasks), asyncio.get_running_loop().time() + PATIENCE + GRACE
    while pending:
        answered = [task for task in tasks if task.done() and task.exception() is None]
        patience = GRACE if len(answered) * 2 > len(tasks) else end - asyncio.get_running_loop().time()
        done, pending = await asyncio.wait(pending, timeout=max(0.0, patience), return_when=asyncio.FIRST_COMPLETED)
        if not done:
            break
    for task in pending:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [None if task.cancelled() or task.exception() is not None else task.result() for task in tasks]


async def _exchange(host: str, port: int, message: Message) -> Message:
    reader, writer = await asyncio.open_connection(host, port, limit=LIMIT)
    try:
        writer.write(json.dumps(message).encode() + b"\n")
        await writer.drain()
        line = await reader.readline()
        return json.loads(line)
    finally:
        writer.close()


async def serve(host: str, port: int, answer: Callable[[Message], Awaitable[Message]]) -> asyncio.Server:
    """Answer whoever asks; a connection that says nothing understandable is closed."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                message = json.loads(await reader.readline())
                writer.write(json.dumps(await answer(message)).encode() + b"\n")
                await writer.drain()
        except (TimeoutError, OSError, ValueError, KeyError):
            pass
        finally:
            writer.close()

    return await asyncio.start_server(one, host, port, limit=LIMIT)
