"""Carries TCP connections from a listening socket in one network namespace to an address in another.

Run as a program of its own: `relay.py LISTENER READY NAMESPACE HOST PORT`. It is given the socket, open already, as the
descriptor LISTENER, moves to NAMESPACE (a path; `-` is the present one), says so on the pipe READY, and connects from
there: no interface, address or rule is needed on either side. It imports the standard library alone, to start fast.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import sys

_CLONE_NEWNET = 0x40000000


def _enter(namespace: str) -> None:
    descriptor = os.open(namespace, os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    os.close(descriptor)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
    try:
        far_reader, far_writer = await asyncio.open_connection(host, port)
    except OSError:
        writer.close()
        return
    try:
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
    finally:
        writer.close()
        far_writer.close()


async def _serve(listener: socket.socket, ready: int, host: str, port: int) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _carry(reader, writer, host, port)

    async with await asyncio.start_server(connected, sock=listener, backlog=512) as server:
        os.write(ready, b"ready")
        os.close(ready)
        await server.serve_forever()


def main(argv: list[str]) -> None:
    """Move, and carry until ended."""
    listener, ready, namespace, host, port = argv
    if namespace != "-":
        _enter(namespace)
    asyncio.run(_serve(socket.socket(fileno=int(listener)), int(ready), host, int(port)))


if __name__ == "__main__":
    main(sys.argv[1:])
