"""A connection, plain or TLS, with operations that wait in the loop until their deadline at most."""

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
    """One connection. Every operation raises `OSError` when the peer fails and `TimeoutError` when it is slow."""

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
        """Do the TLS handshake."""
        wrapped = context.wrap_socket(self._socket, server_side=server, do_handshake_on_connect=False)
        self._socket = wrapped
        await self._patiently(wrapped.do_handshake, READ, deadline)

    async def receive(self, deadline: float) -> bytes:
        """Return some bytes; empty when the peer has closed."""
        return await self._patiently(lambda: self._socket.recv(_CHUNK), READ, deadline)

    async def send(self, data: bytes, deadline: float) -> None:
        """Send all of the bytes."""
        rest = memoryview(data)
        while rest:
            sent = await self._patiently(lambda rest=rest: self._socket.send(rest), WRITE, deadline)
            rest = rest[sent:]

    async def finish(self) -> None:
        """Close after an answer; read for a short time before that.

        Closing with unread bytes would reset the connection, and the client would never see why its request was
        refused.
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
        """Cut a connection that a task still waits for; the task sees it as closed."""
        with contextlib.suppress(OSError):
            # Not the `shutdown` of TLS: it drops the session, and a waiting task would fail as if by a bug.
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
