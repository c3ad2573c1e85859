"""A connection, plain or TLS, whose operations wait in the loop and never longer than their deadline."""

import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

from stateward.agent.io.loop import READ, WRITE, ready, seconds_from_now

T = TypeVar("T")
_CHUNK = 4096
_LINGER_SECONDS = 1.0
_LINGER_BYTES = 64 * 1024


class Stream:
    """One connection. Every operation raises `OSError` when the other side fails and `TimeoutError` when it is slow."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection

    async def connect(self, address: tuple[str, int], deadline: float) -> None:
        """Connect to a numeric address."""
        with contextlib.suppress(BlockingIOError):
            self._socket.connect(address)
        await ready(self._socket.fileno(), WRITE, deadline)
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, "the connection was refused")

    async def secure(self, context: ssl.SSLContext, deadline: float, *, server: bool) -> None:
        """Shake hands."""
        wrapped = context.wrap_socket(self._socket, server_side=server, do_handshake_on_connect=False)
        self._socket = wrapped
        await self._patiently(wrapped.do_handshake, READ, deadline)

    async def receive(self, deadline: float) -> bytes:
        """Return some bytes, none when the other side has ended."""
        return await self._patiently(lambda: self._socket.recv(_CHUNK), READ, deadline)

    async def send(self, data: bytes, deadline: float) -> None:
        """Send all of the bytes."""
        rest = memoryview(data)
        while rest:
            sent = await self._patiently(lambda rest=rest: self._socket.send(rest), WRITE, deadline)
            rest = rest[sent:]

    async def finish(self) -> None:
        """End after an answer, reading on for a moment.

        Closing while unread bytes wait would reset the connection, and the other side would never see the answer that
        says why its request was refused.
        """
        deadline = seconds_from_now(_LINGER_SECONDS)
        room = _LINGER_BYTES
        with contextlib.suppress(OSError, ValueError):
            if isinstance(self._socket, ssl.SSLSocket):
                with contextlib.suppress(ssl.SSLError):
                    self._socket.unwrap()
            self._socket.shutdown(socket.SHUT_WR)
            while room > 0 and (data := await self.receive(deadline)):
                room -= len(data)

    def cut(self) -> None:
        """End a connection that somebody still waits for; whoever does finds it ended."""
        with contextlib.suppress(OSError):
            # Not the `shutdown` of TLS: it forgets the session, and whoever waits in it fails as by a bug.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close at once."""
        self._socket.close()

    async def _patiently(self, operation: Callable[[], T], events: int, deadline: float) -> T:
        while True:
            try:
                return operation()
            except ssl.SSLWantReadError:
                await ready(self._socket.fileno(), READ, deadline)
            except ssl.SSLWantWriteError:
                await ready(self._socket.fileno(), WRITE, deadline)
            except BlockingIOError:
                await ready(self._socket.fileno(), events, deadline)
