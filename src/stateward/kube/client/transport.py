"""HTTP to one API server: one session, and one place that turns failures into typed errors.

It retries a call only if that is harmless: after a 429 (the server did not execute it), once with fresh credentials
after a 401, and a read once after a broken connection. The caller handles everything else, because only the caller
knows whether to read before a retry.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

import aiohttp

from stateward.kube.access.connection import Connection, TlsContexts
from stateward.kube.access.credentials import Credential
from stateward.kube.client.lines import split_lines
from stateward.kube.client.proxy import proxy_for
from stateward.kube.objects.errors import (
    ApiError,
    ConfigError,
    TooManyRequests,
    TransportError,
    Unauthorized,
    error_for_body,
)
from stateward.kube.timing.clock import Clock

_READ_BUFFER_BYTES = 1 << 18
_CONTEXT = re.compile(r" ssl:(<[^>]*>|\w+)")
Socket = aiohttp.ClientWebSocketResponse


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits; times are in seconds.

    `request` limits one attempt, `command` a command in a container, `connect` its connection; `throttle` limits all
    waiting for a server that answers 429; `concurrency` is the number of parallel requests (without watches).
    """

    request: float = 30.0
    command: float = 60.0
    connect: float = 10.0
    throttle: float = 30.0
    concurrency: int = 32


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `patient` calls wait and retry when the server throttles."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
    patient: bool = True
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def mutating(self) -> bool:
        """Whether the call can change something on the server."""
        return self.method not in {"GET", "HEAD"}


class Transport:
    """Sends calls; call `close` when done. Raises ConfigError if the environment names a proxy of another kind."""

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Clock,
        limits: Limits,
        user_agent: str,
        told: Callable[[float], None] | None = None,
    ) -> None:
        self._connection = connection
        self._proxy = proxy_for(connection)
        self._clock = clock
        self._told = told
        self._limits = limits
        self._agent = user_agent
        self._contexts = TlsContexts(connection.tls, clock)
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._sessions: list[aiohttp.ClientSession] = []
        self._user = ""

    def acting_as(self, user: str) -> "Transport":
        """Return a transport with the rights of another user; sessions, slots and credentials are shared."""
        other = copy(self)
        other._user = user  # noqa: SLF001 - of the same class
        return other

    async def close(self) -> None:
        """Close all connections."""
        while self._sessions:
            await self._sessions.pop().close()

    async def send(self, call: Call) -> bytes:
        """Return the body of a successful answer; raise ApiError."""
        deadline = self._clock.monotonic() + self._limits.throttle
        while True:
            try:
                async with self._slots:
                    return await self._authorized(call)
            except TooManyRequests as error:
                wait = error.retry_after or 1.0
                if not call.patient or self._clock.monotonic() + wait > deadline:
                    raise
            await self._clock.sleep(wait)

    async def lines(self, call: Call, *, torn: bool = False) -> AsyncGenerator[bytes, None]:
        """Yield the lines of an endless answer; a broken stream raises TransportError.

        So does an end within a line, unless the last line may be `torn`.
        """
        try:
            credential = await self._credential()
            response = await self._open(call, credential)
            if response.status == 401:
                response.close()
                self._connection.credentials.invalidate(credential)
                response = await self._open(call, await self._credential())
            async with response:
                await self._raise_for(response, call)
                async for line in split_lines(response.content.iter_any(), torn=torn):
                    yield line
        except (aiohttp.ClientError, OSError) as error:
            raise _transport_error(error, call) from error

    @asynccontextmanager
    async def socket(self, path: str, protocol: str, query: list[tuple[str, str]]) -> AsyncGenerator[Socket]:
        """Open a WebSocket for a command in a container; raise ApiError."""
        credential = await self._credential()
        # A kubelet answers 406 to a request for a specific content type here.
        call = Call("GET", path, accept="*/*")
        try:
            async with (
                self._clock.timeout(self._limits.command),
                self._ensure_session().ws_connect(
                    self._connection.server.rstrip("/") + path,
                    params=query,
                    protocols=(protocol,),
                    headers=self._headers(call, credential),
                    ssl=self._trust(credential),
                    server_hostname=self._connection.tls.server_name or None,
                    proxy=self._proxy,
                ) as socket,
            ):
                yield socket
        except aiohttp.WSServerHandshakeError as error:
            raise error_for_body(error.status, error.message.encode()) from error
        except (aiohttp.ClientError, OSError) as error:
            raise _transport_error(error, call) from error

    async def _authorized(self, call: Call) -> bytes:
        credential = await self._credential()
        try:
            return await self._attempt(call, credential)
        except Unauthorized:
            self._connection.credentials.invalidate(credential)
            return await self._attempt(call, await self._credential())

    async def _attempt(self, call: Call, credential: Credential) -> bytes:
        try:
            async with self._clock.timeout(self._limits.request), self._answer(call, credential) as response:
                self._tell_date(response.headers.get("Date", ""))
                await self._raise_for(response, call)
                return await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise _transport_error(error, call) from error

    async def _credential(self) -> Credential:
        try:
            return await self._connection.credentials.current()
        except ConfigError as error:
            raise Unauthorized(str(error)) from error

    def _trust(self, credential: Credential) -> ssl.SSLContext:
        """Return the TLS context; raise ApiError: a rotated CA or a plugin's certificate may be unusable."""
        try:
            return self._contexts.for_credential(credential)
        except ConfigError as error:
            if not credential.certificate:
                raise TransportError(str(error)) from error
            self._connection.credentials.invalidate(credential)
            raise Unauthorized(str(error)) from error

    @asynccontextmanager
    async def _answer(self, call: Call, credential: Credential) -> AsyncGenerator[aiohttp.ClientResponse]:
        async with await self._open(call, credential) as response:
            yield response

    async def _open(self, call: Call, credential: Credential) -> aiohttp.ClientResponse:
        return await self._ensure_session().request(
            call.method,
            self._connection.server.rstrip("/") + call.path,
            params=dict(call.query),
            data=call.body,
            headers=self._headers(call, credential),
            ssl=self._trust(credential),
            server_hostname=self._connection.tls.server_name or None,
            proxy=self._proxy,
            allow_redirects=False,
            middlewares=(_once,) if call.mutating else (),
        )

    def _headers(self, call: Call, credential: Credential) -> dict[str, str]:
        headers = {**call.headers, "Accept": call.accept, "User-Agent": self._agent, **credential.headers()}
        if self._user:
            # Without groups: the server adds those of a service account, and no right to impersonate groups is needed.
            headers["Impersonate-User"] = self._user
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        # The server's compression costs both sides more time than it saves on a cluster's network.
        headers["Accept-Encoding"] = "identity"
        return headers

    def _ensure_session(self) -> aiohttp.ClientSession:
        if not self._sessions:
            session = aiohttp.ClientSession(
                # Watches hold connections for minutes, so requests are limited, not connections.
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect),
                read_bufsize=_READ_BUFFER_BYTES,
                raise_for_status=False,
            )
            self._sessions.append(session)
        return self._sessions[0]

    def _tell_date(self, header: str) -> None:
        """Tell when the server began its answer; one that says no date, or none that can be read, tells nothing."""
        if self._told is not None and header:
            with suppress(ValueError):
                self._told(parsedate_to_datetime(header).timestamp())

    async def _raise_for(self, response: aiohttp.ClientResponse, call: Call) -> None:
        if response.status < 300:
            return
        after = _seconds(response.headers.get("Retry-After", ""))
        raise error_for_body(response.status, await response.read(), mutating=call.mutating, retry_after=after)


class _Unanswered(aiohttp.ClientError):
    """A write whose connection broke before the answer."""


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Send a write once: aiohttp itself repeats a PUT or DELETE whose connection broke, also if it was executed.

    The disaster this prevents: the first DELETE of a pod is executed and its answer lost; the second is refused,
    because the first has changed the pod; and the caller believes that no pod was deleted.
    """
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise  # Nothing was sent, and aiohttp does not repeat it.
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _Unanswered(str(error) or type(error).__name__) from error


def _seconds(header: str) -> float:
    # API servers never send the other form of Retry-After, a date.
    return float(header) if header.isdecimal() else 0.0


def _transport_error(error: Exception, call: Call) -> ApiError:
    # Without a connection nothing was sent; after that, only the server knows.
    sent = not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    # aiohttp shows the memory address of the TLS context, which is of no use.
    told = _CONTEXT.sub("", str(error)) or type(error).__name__
    what = "timed out" if isinstance(error, TimeoutError) else told
    return TransportError(f"{call.method} {call.path}: {what}", may_have_committed=call.mutating and sent)
