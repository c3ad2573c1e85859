"""A TCP relay in front of the API server whose connections can be cut, as networks do."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from urllib.parse import urlsplit

from stateward.kube.access.connection import Connection


class Relay:
    """Forwards bytes in both directions until a test cuts or freezes it."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self.connections = 0

    def cut(self) -> None:
        """Reset every connection, wherever in the stream it is."""
        for writer in tuple(self._writers):
            # Without lingering a close is a reset, not an orderly end.
            sock: socket.socket = writer.get_extra_info("socket")
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        upstream_reader, upstream_writer = await asyncio.open_connection(*self._target)
        self._writers |= {writer, upstream_writer}
        try:
            await asyncio.gather(self._pump(reader, upstream_writer), self._pump(upstream_reader, writer))
        finally:
            self._writers -= {writer, upstream_writer}
            writer.close()
            upstream_writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def relayed(connection: Connection) -> AsyncGenerator[tuple[Relay, Connection]]:
    """Put a relay in front of a connection."""
    address = urlsplit(connection.server)
    relay = Relay(address.hostname or "", address.port or 443)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield relay, replace(connection, server=f"https://127.0.0.1:{port}")
    finally:
        server.close()
        relay.cut()
        await server.wait_closed()
