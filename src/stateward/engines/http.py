"""HTTP to databases over aiohttp: bounded in time and in size, and never half an answer."""

from collections.abc import Mapping

import aiohttp
import msgspec

from stateward.api.base import Json
from stateward.engines.base import Answer, UnreachableError

LARGEST = 256 << 20
"""Bytes of an answer: ten times what 100,000 shards take. More is not an answer of a database in order."""

_CHUNK = 1 << 16


class HttpTransport:
    """Requests over one shared session. Times are in seconds, sizes in bytes."""

    def __init__(
        self, session: aiohttp.ClientSession, *, connect: float = 2, total: float = 15, largest: int = LARGEST
    ) -> None:
        self._session = session
        self._connect = connect
        self._total = total
        self._largest = largest

    async def request(
        self,
        endpoint: str,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Json | None = None,
        patience: float | None = None,
    ) -> Answer:
        """Return the whole answer, whatever its status; raise `UnreachableError` where there is none."""
        data = None if body is None else msgspec.json.encode(body)
        total = self._total if patience is None else patience
        timeout = aiohttp.ClientTimeout(total=total, connect=self._connect, sock_connect=self._connect)
        headers = {"Accept": "application/json", **({} if data is None else {"Content-Type": "application/json"})}
        try:
            async with self._session.request(
                method,
                endpoint + path,
                params=params,
                data=data,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                return Answer(response.status, await self._read(response, endpoint))
        except TimeoutError as error:
            raise UnreachableError(f"{endpoint} did not answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise UnreachableError(f"{endpoint} cannot be asked: {error or type(error).__name__}") from error

    async def _read(self, response: aiohttp.ClientResponse, endpoint: str) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK):
            body += chunk
            if len(body) > self._largest:
                raise UnreachableError(f"{endpoint} answers with more than {self._largest >> 20} MiB")
        return bytes(body)
