"""Carries TCP connections from a port in one network namespace to an address in another.

Run as a program of its own. It opens the listening socket in the namespace it listens in, then moves to the
other one and connects from there: no interface, address or rule is needed on either side.

`python -m sandbox.relay FROM_NS HOST PORT TO_NS HOST PORT`; a namespace is a path, `-` is the present one.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import sys

_CLONE_NEWNET = 0x40000000
_LOOPBACK_BACKLOG = 512


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


async def _serve(listener: socket.socket, host: str, port: int) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _carry(reader, writer, host, port)

    server = await asyncio.start_server(connected, sock=listener, backlog=_LOOPBACK_BACKLOG)
    async with server:
        await server.serve_forever()


def main(argv: list[str]) -> None:
    """Listen, move, and carry until ended."""
    from_namespace, listen_host, listen_port, to_namespace, host, port = argv
    outside = os.open("/proc/self/ns/net", os.O_RDONLY)
    if from_namespace != "-":
        _enter(from_namespace)
    listener = socket.create_server((listen_host, int(listen_port)), backlog=_LOOPBACK_BACKLOG)
    _enter(f"/proc/self/fd/{outside}" if to_namespace == "-" else to_namespace)
    asyncio.run(_serve(listener, host, int(port)))


if __name__ == "__main__":
    main(sys.argv[1:])
