"""Serves HTTP within limits on time and on the number of connections: health, metrics and the webhook alike.

The disaster this prevents: a client opens connections and sends nothing, or byte by byte, until the kubelet's probe or
the API server's request finds no slot, and the kubelet kills a working operator. As in the agent, the oldest idle
connection makes room for the next one: the kubelet sends its request at once.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler
from aiohttp.web_protocol import RequestHandler

from stateward.agent.serving.server import listen
from stateward.kube.timing.background import in_background

_log = structlog.get_logger(__name__)
_SILENCE = 60.0
"""Seconds between two log lines about refused clients: any client can cause one."""
_PAUSE = 0.05
"""Seconds before the next attempt if a connection could not be accepted."""
_LINGERING = 1.0
"""Seconds in which the rest of a request that was refused is read, so that the client sees why."""
_SHUTDOWN = 5.0
"""Seconds in which the last answers are sent."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the clients of one port may take."""

    connections: int = 64
    seconds_request: float = 5.0
    """Until a new connection has shaken hands and sent a whole header, and then for a whole body."""
    seconds_idle: float = 75.0
    """Seconds that an answered connection may stay idle; Prometheus and the API server keep theirs."""
    body: int = 1 << 20
    """Bytes of a body."""


class _Place:
    """One connection, and when it is cut."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.busy = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def open(self) -> bool:
        """Whether its transport is still open."""
        return self.connection.fileno() >= 0

    def cut(self) -> None:
        """End it for both sides; the transport notices and closes it."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def expect(self, seconds: float) -> None:
        """Close it after that many seconds, unless another limit replaces this one before."""
        self.work()
        self.busy = False
        self._timer = asyncio.get_running_loop().call_later(seconds, self.cut)

    def work(self) -> None:
        """Leave it alone while a request is being answered."""
        self.busy = True
        if self._timer is not None:
            self._timer.cancel()


class Listener:
    """Accepts connections while there are free slots, and answers their requests."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._places: dict[RequestHandler, _Place] = {}
        self._arriving: set[asyncio.Task[None]] = set()
        self._next_word = 0.0

    @property
    def connections(self) -> int:
        """The number of open connections, including requests whose client is gone."""
        self._places = {handler: place for handler, place in self._places.items() if place.open or place.busy}
        return len(self._places)

    @web.middleware
    async def watched(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request once its body has arrived; until the answer its connection counts as in use."""
        place = self._places.get(request.protocol)
        if place is None:
            return await handler(request)
        try:
            async with asyncio.timeout(self._limits.seconds_request):
                await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout(text="the body took too long") from None
        place.work()
        try:
            return await handler(request)
        finally:
            if self._places.pop(request.protocol, None) is not None:
                self._places[request.protocol] = place
            place.expect(self._limits.seconds_idle)

    async def accept(
        self, listening: socket.socket, handlers: Callable[[], RequestHandler], tls: Callable[[], ssl.SSLContext] | None
    ) -> None:
        """Accept until cancelled. Beyond the limit a connection is closed at once."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(_PAUSE)  # gone again, or no descriptor left: not a reason to turn in circles
                continue
            if self.connections >= self._limits.connections and not self._made_room():
                connection.close()
                continue
            try:
                trust = tls and tls()
            except (OSError, ValueError) as error:  # such as no descriptor left for a renewed certificate
                connection.close()
                self._say("a client was refused: the certificate cannot be loaded", str(error))
                continue
            handler = handlers()
            self._places[handler] = place = _Place(connection)
            place.expect(self._limits.seconds_request)
            task = asyncio.create_task(self._arrive(handler, connection, trust))
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)

    def _made_room(self) -> bool:
        """Close the connection that has been idle for the longest time; return whether there was one."""
        oldest = next((handler for handler, place in self._places.items() if not place.busy), None)
        if oldest is None:
            return False
        self._places.pop(oldest).cut()
        return True

    async def _arrive(self, handler: RequestHandler, connection: socket.socket, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        patience = None if tls is None else self._limits.seconds_request
        try:
            await loop.connect_accepted_socket(lambda: handler, connection, ssl=tls, ssl_handshake_timeout=patience)
        except OSError as error:
            connection.close()
            if isinstance(error, ssl.SSLError):
                self._say("a client was refused in its TLS handshake", error.reason)

    def _say(self, what: str, why: str) -> None:
        """Log why a client was refused, once a minute at most."""
        now = asyncio.get_running_loop().time()
        if now >= self._next_word:
            self._next_word = now + _SILENCE
            _log.info(what, why=why)

    def close(self) -> None:
        """Forget all connections; those that are still open are closed with the server."""
        for task in self._arriving:
            task.cancel()
        for place in self._places.values():
            place.work()


@asynccontextmanager
async def serve(
    host: str,
    port: int,
    routes: Sequence[web.RouteDef],
    *,
    limits: Limits | None = None,
    tls: Callable[[], ssl.SSLContext] | None = None,
) -> AsyncGenerator[int]:
    """Serve routes for the block; yields the port (0 chooses a free one). Raises OSError if the port is in use.

    `tls` is called for each connection, so that the certificate and the trusted CAs may change.
    """
    limits = limits or Limits()
    listener = Listener(limits)
    app = web.Application(client_max_size=limits.body, middlewares=[listener.watched])
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, lingering_time=_LINGERING, shutdown_timeout=_SHUTDOWN)
    listening = listen(host, port)
    listening.setblocking(False)
    try:
        await runner.setup()
        assert runner.server is not None  # noqa: S101 - it is set up
        async with in_background(listener.accept(listening, runner.server, tls)):
            yield listening.getsockname()[1]
    finally:
        listening.close()
        listener.close()
        await runner.cleanup()
