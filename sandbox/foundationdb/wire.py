"""One question and one answer over TCP: a line of JSON each way, with the protocol of whoever asks."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
PATIENCE = 1.5
"""Seconds to connect and get an answer."""
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
