"""HTTP to databases over aiohttp: limited in time and size, and never half an answer."""

from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from stateward.engines.connection.access import Access, BadAccessError, Contexts
from stateward.engines.connection.answer_limits import USUAL, mib
from stateward.engines.connection.base import Answer, Call, GarbledError, TooLargeError, UnreachableError
from stateward.engines.connection.no_answer import failure_text

LARGEST = USUAL
"""Default limit in bytes of an answer: settings, explanations and users take a small part of it."""
PLAIN = {"Accept": "application/json", "Accept-Encoding": "identity"}
"""Asks for uncompressed answers."""

_KEPT_SECONDS = 5.0
"""How long an unused connection is kept: longer than the pause between two observations of a cluster with work in
progress, far shorter than that of a settled one. Each connection with TLS has buffers of 300 KiB.
"""
_CHUNK = 1 << 16
READS = ("GET", "HEAD")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Limits of time, in seconds, and of answers, in bytes."""

    connect: float = 2
    total: float = 15
    largest: int = LARGEST


class HttpTransport:
    """Requests over one shared session; `access` is for the secured cluster that it connects to."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        bounds: Bounds | None = None,
        *,
        access: Access | None = None,
        contexts: Contexts | None = None,
    ) -> None:
        self._session = session
        self._bounds = bounds or Bounds()
        self._access = access
        self._contexts = contexts or Contexts()

    def within(self, access: Access) -> "HttpTransport":
        """Return a transport into one secured cluster: it verifies servers on `https` and presents the credentials."""
        return HttpTransport(self._session, self._bounds, access=access, contexts=self._contexts)

    async def send(self, call: Call) -> Answer:
        """Return the whole answer with any status; raise `UnreachableError` if there is none.

        Raise `TooLargeError` for an answer above the limit, and `GarbledError` for a compressed one.
        """
        data = None if call.body is None else msgspec.json.encode(call.body)
        total = self._bounds.total if call.patience is None else call.patience
        timeout = aiohttp.ClientTimeout(total=total, connect=self._bounds.connect, sock_connect=self._bounds.connect)
        headers = {**PLAIN, **({} if data is None else {"Content-Type": "application/json"})}
        if self._access is not None and call.endpoint.startswith("https:"):  # Never send a password in plain text.
            headers |= self._access.headers()
        try:
            async with self._session.request(
                call.method,
                call.endpoint + call.path,
                params=call.params,
                data=data,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                middlewares=() if call.method in READS else (_once,),
                **self._secured(call.endpoint),
            ) as response:
                return Answer(response.status, await self._read(response, call))
        except TimeoutError as error:
            raise UnreachableError(f"{call.endpoint} did not answer in time") from error
        except BadAccessError as error:
            raise UnreachableError(str(error)) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, _UnansweredError) else error
            without_frames(error)
            raise UnreachableError(f"{call.endpoint} cannot be reached: {failure_text(reason)}") from error

    def _secured(self, endpoint: str) -> dict[str, Any]:
        """Return the TLS arguments of a request; `https` is always verified."""
        access = self._access
        if access is None or not endpoint.startswith("https:"):
            return {}
        return {"ssl": self._contexts.of(access), "server_hostname": access.name}

    async def _read(self, response: aiohttp.ClientResponse, call: Call) -> bytes:
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            # A few compressed kilobytes can become gigabytes.
            raise GarbledError(
                f"{call.endpoint}{call.path} answers in an encoding that was not requested: {encoding[:60]}"
            )
        limit = self._bounds.largest if call.room is None else call.room.left
        if (response.content_length or 0) > limit:
            raise too_large(call, response.content_length or 0, self._bounds.largest)
        body = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK):
            body += chunk
            if len(body) > limit:
                raise too_large(call, len(body), self._bounds.largest)
            if call.room is not None:
                await call.room.take(len(chunk))
        return bytes(body)


class _UnansweredError(aiohttp.ClientError):
    """A write whose connection broke before the answer."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Send a write once: aiohttp itself repeats a PUT or DELETE whose connection broke, also if it was executed.

    The disaster this prevents: the first request begins a snapshot and its answer is lost; the second is refused,
    because there is a snapshot of that name; and the refusal counts as the answer.
    """
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise  # Nothing was sent, and aiohttp does not repeat it.
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _UnansweredError(error) from error


def without_frames(error: BaseException | None) -> None:
    """Drop the tracebacks of an error and of its causes.

    The frames of a failed TLS handshake hold its buffers (256 KiB), which hold the error: a cycle that only a full
    garbage collection frees. An operator with many such clusters would keep hundreds of them.
    """
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = None
        without = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
        if isinstance(without, BaseException):
            without.__traceback__ = None
        error = error.__cause__ or error.__context__


def too_large(call: Call, size: int, usual: int) -> TooLargeError:
    """Return the error for an answer of at least `size` bytes."""
    limit = (
        f"{mib(usual)} for this answer"
        if call.room is None
        else f"{mib(call.room.largest)} for all answers of one reconciliation"
    )
    return TooLargeError(f"{call.endpoint}{call.path} answers with {mib(size)} or more, and the limit is {limit}")


def open_session() -> aiohttp.ClientSession:
    """Return a session for databases; it never decompresses answers."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(keepalive_timeout=_KEPT_SECONDS), auto_decompress=False)
