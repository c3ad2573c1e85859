"""HTTP to databases over aiohttp: bounded in time and in size, and never half an answer."""

from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from stateward.engines.access import Access, BadAccessError, Contexts
from stateward.engines.base import Answer, Call, UnreachableError
from stateward.engines.unanswered import in_words

LARGEST = 256 << 20
"""Bytes of an answer: ten times what 100,000 shards take. More is not an answer of a database in order."""

_CHUNK = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How long to wait, in seconds, and how much to read, in bytes."""

    connect: float = 2
    total: float = 15
    largest: int = LARGEST


class HttpTransport:
    """Requests over one shared session; `access` is that of the secured cluster that it leads into."""

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
        """Return the way into one secured cluster: whoever answers by `https` is verified, and shown who asks."""
        return HttpTransport(self._session, self._bounds, access=access, contexts=self._contexts)

    async def send(self, call: Call) -> Answer:
        """Return the whole answer, whatever its status; raise `UnreachableError` where there is none."""
        data = None if call.body is None else msgspec.json.encode(call.body)
        total = self._bounds.total if call.patience is None else call.patience
        timeout = aiohttp.ClientTimeout(total=total, connect=self._bounds.connect, sock_connect=self._bounds.connect)
        headers = {"Accept": "application/json", **({} if data is None else {"Content-Type": "application/json"})}
        if self._access is not None and call.endpoint.startswith("https:"):  # In plain text nobody is told a password.
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
                **self._secured(call.endpoint),
            ) as response:
                return Answer(response.status, await self._read(response, call.endpoint))
        except TimeoutError as error:
            raise UnreachableError(f"{call.endpoint} did not answer in time") from error
        except BadAccessError as error:
            raise UnreachableError(str(error)) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise UnreachableError(f"{call.endpoint} cannot be asked: {in_words(error)}") from error

    def _secured(self, endpoint: str) -> dict[str, Any]:
        """Return what makes a request a secured one; what is asked by `https` is always verified."""
        access = self._access
        if access is None or not endpoint.startswith("https:"):
            return {}
        return {"ssl": self._contexts.of(access), "server_hostname": access.name}

    async def _read(self, response: aiohttp.ClientResponse, endpoint: str) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK):
            body += chunk
            if len(body) > self._bounds.largest:
                raise UnreachableError(f"{endpoint} answers with more than {self._bounds.largest >> 20} MiB")
        return bytes(body)
