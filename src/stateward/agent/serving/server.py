"""A listener with strict limits of time, bytes and concurrent connections."""

import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from stateward.agent.io import wire
from stateward.agent.io.log import say
from stateward.agent.io.loop import NEVER, READ, Loop, ready, seconds_from_now, sleep
from stateward.agent.io.stream import Stream

ReadBody = Callable[[], Awaitable[bytes]]
Handler = Callable[[wire.Head, ReadBody], Awaitable[wire.Answer]]


class Limits(NamedTuple):
    """Limits per client."""

    connections: int = 16
    seconds_head: float = 5.0
    """For the TLS handshake and the request head, together."""
    seconds_body: float = 5.0
    seconds_answer: float = 5.0


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; without a host, on every address of the pod, IPv4 and IPv6."""
    both = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=64, dualstack_ipv6=both)


class Server:
    """Answers on one listening socket."""

    def __init__(
        self, loop: Loop, listener: socket.socket, handler: Handler, secure: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        listener.setblocking(False)
        self.listener = listener
        self.limits = Limits()
        self.active = 0
        self._idle: dict[Stream, None] = {}
        self._loop = loop
        self._handler = handler
        self._secure = secure

    async def serve(self) -> None:
        """Accept connections forever. Above the limit it closes one at once, to bound the number of descriptors.

        A client could open all connections and send nothing; the kubelet's probe would be refused for minutes, and the
        kubelet would kill a database that serves. So idle connections, without a request or already answered, make room
        for new ones: the kubelet and the operator send their request at once.
        """
        while True:
            await ready(self.listener.fileno(), READ, NEVER)
            try:
                connection, _ = self.listener.accept()
            except OSError:
                await sleep(0.05)  # already gone, or no descriptor left: avoid a busy loop
                continue
            if self.active >= self.limits.connections and not self._made_room():
                connection.close()
                continue
            self._loop.spawn(self._converse(Stream(connection)))

    def _made_room(self) -> bool:
        """Cut the oldest idle connection; return whether there was one."""
        oldest = next(iter(self._idle), None)
        if oldest is None:
            return False
        del self._idle[oldest]
        oldest.cut()
        return True

    async def _converse(self, stream: Stream) -> None:
        self.active += 1
        self._idle[stream] = None
        after = None
        try:
            with contextlib.suppress(OSError, ValueError):  # a client that is slow, gone or does not speak TLS
                answer = await self._answer(stream)
                after = answer.after
                await stream.send(wire.format_answer(answer), seconds_from_now(self.limits.seconds_answer))
                await stream.finish()
        finally:
            self._idle.pop(stream, None)
            stream.close()
            self.active -= 1
        if after is not None:
            after()

    async def _answer(self, stream: Stream) -> wire.Answer:
        deadline = seconds_from_now(self.limits.seconds_head)
        if self._secure is not None:
            await stream.secure(self._secure(), deadline, server=True)
        try:
            try:
                data, rest = await _read_head(stream, deadline)
                self._idle.pop(stream, None)
                head = wire.parse_head(data)
                return await self._handler(head, lambda: self._read_body(stream, head, rest))
            except TimeoutError:
                raise wire.RefusedError(408, "the request took too long") from None
        except wire.RefusedError as error:
            return wire.refusal(error)
        except (ConnectionError, ssl.SSLError):
            raise  # the client is gone
        except Exception as error:  # noqa: BLE001 - one answer failed; the database and the other answers go on
            say(f"an answer failed: {type(error).__name__}: {error}")
            return wire.Answer(500, {"error": "the agent could not answer; its log says why"})
        finally:
            self._idle[stream] = None

    async def _read_body(self, stream: Stream, head: wire.Head, body: bytes) -> bytes:
        length = wire.body_length(head)
        deadline = seconds_from_now(self.limits.seconds_body)
        while len(body) < length:
            data = await stream.receive(deadline)
            if not data:
                raise wire.RefusedError(400, "the body is shorter than its Content-Length")
            body += data
        return body[:length]


async def _read_head(stream: Stream, deadline: float) -> tuple[bytes, bytes]:
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0 and len(data) <= wire.HEAD_LIMIT:
        more = await stream.receive(deadline)
        if not more:
            raise wire.RefusedError(400, "the request ended before its header was complete")
        data += more
    if not 0 <= end <= wire.HEAD_LIMIT:
        raise wire.RefusedError(431, f"the header has more than {wire.HEAD_LIMIT} bytes")
    return data[:end], data[end + 4 :]
