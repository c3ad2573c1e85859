"""Requests to the agents in the pods: HTTPS to the pod's address, with a verified name and the member's token.

Pod addresses are reused. Each member has its own certificate, so a request for one member never reaches another one.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Protocol

import aiohttp
import msgspec
from msgspec import Struct

from stateward.engines.connection.http import without_frames
from stateward.engines.pods.agent import API_PORT
from stateward.planning.model.process import Process, ProcessState

PATIENCE = 5.0
"""Seconds for one answer; the agent itself gives a slow client no more."""
AT_ONCE = 256
"""Agents of all clusters that are asked at the same time; the time of waiting requests has not started."""
UNAUTHORIZED = 401
LARGEST = 1 << 16
"""Bytes of an answer."""


class AgentError(Exception):
    """What an agent did not do or answer, in words a person understands."""


class AgentRefusedError(AgentError):
    """The agent understood the request and did nothing; it may refuse it for a long time, because of a full disk."""


class MutualRejectionError(AgentError):
    """Operator and agent reject each other: the agent does not accept the token, or cannot prove its name."""


class UnauthorizedError(MutualRejectionError):
    """The agent does not accept the token."""


ANSWERS: Mapping[int, type[AgentError]] = {
    UNAUTHORIZED: UnauthorizedError,
    **dict.fromkeys((400, 404, 405, 409, 503), AgentRefusedError),
}
"""What the answers mean that an agent gives instead of doing something; after any other it is unknown what was done."""


class Access(Struct, frozen=True):
    """How the operator verifies the agent of one member, and the token that the agent accepts."""

    bundle: str
    """Certificates of the authorities that sign for the cluster's agents, in PEM."""
    token: str
    earlier: str = ""
    """The token before, if any: an agent has it until the kubelet has brought it the new one."""


class Peer(Struct, frozen=True):
    """One agent: its address, and the name in its certificate."""

    address: str
    name: str


class Agents(Protocol):
    """The agents of all pods; every method raises `AgentError`, and may be called again after it did."""

    async def ask(self, access: Access, peer: Peer) -> Process:
        """Return the agent's answer about its process."""
        ...

    async def stop(self, access: Access, peer: Peer) -> None:
        """Have the process stopped; it may not have ended yet."""
        ...

    async def start(self, access: Access, peer: Peer, checksum: str) -> None:
        """Have the process started with exactly this configuration, or (empty) with what is mounted."""
        ...


class _Answer(Struct, frozen=True, rename="camel"):
    state: str
    mounted_checksum: str | None = None
    running_checksum: str | None = None
    agent_version: str = ""
    configuration_error: str | None = None


class HttpAgents:
    """`Agents` over aiohttp. Every request has its own connection: the agent closes each after one answer.

    The time limit of a request starts when it is sent. The disaster this prevents: a zone falls silent, its agents use
    all slots until their limit, the time of the waiting requests runs out too, and pods with healthy agents are
    recreated.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._places = asyncio.Semaphore(AT_ONCE)

    async def ask(self, access: Access, peer: Peer) -> Process:
        """Return the agent's answer about its process."""
        body = await self._call(access, peer, "GET", "/v1/process", None)
        try:
            answer = msgspec.json.decode(body, type=_Answer)
            state = ProcessState(answer.state)
        except (msgspec.DecodeError, ValueError) as error:
            raise AgentError(f"its agent at {peer.address} gives an answer that cannot be read: {error}") from error
        return Process(
            state,
            answer.mounted_checksum or "",
            answer.running_checksum or "",
            answer.agent_version,
            (answer.configuration_error or "")[:300],
        )

    async def stop(self, access: Access, peer: Peer) -> None:
        """Have the process stopped; it may not have ended yet."""
        await self._call(access, peer, "POST", "/v1/process/stop", {})

    async def start(self, access: Access, peer: Peer, checksum: str) -> None:
        """Have the process started with exactly this configuration, or (empty) with what is mounted."""
        await self._call(access, peer, "POST", "/v1/process/start", {"checksum": checksum} if checksum else {})

    async def _call(self, access: Access, peer: Peer, method: str, path: str, body: dict[str, str] | None) -> bytes:
        async with self._places:
            try:
                return await self._talk(access, peer, method, path, body)
            except UnauthorizedError:
                if not access.earlier:
                    raise
                return await self._talk(Access(access.bundle, access.earlier), peer, method, path, body)

    async def _talk(self, access: Access, peer: Peer, method: str, path: str, body: dict[str, str] | None) -> bytes:
        host = f"[{peer.address}]" if ":" in peer.address else peer.address
        try:
            async with self._session.request(
                method,
                f"https://{host}:{API_PORT}{path}",
                data=None if body is None else msgspec.json.encode(body),
                headers={"Authorization": f"Bearer {access.token}"},
                ssl=_context(access.bundle),
                server_hostname=peer.name,
                timeout=aiohttp.ClientTimeout(total=PATIENCE),
                allow_redirects=False,
            ) as response:
                content = await response.content.read(LARGEST)
                if response.status not in (200, 202):
                    said = content.decode(errors="replace")[:300]
                    raise ANSWERS.get(response.status, AgentError)(
                        f"its agent at {peer.address} refuses: {response.status}, {said}"
                    )
                return content
        except aiohttp.ClientSSLError as error:  # another certificate than its own, or none
            without_frames(error)
            raise MutualRejectionError(f"its agent at {peer.address} cannot be reached: {error}") from error
        except TimeoutError as error:
            raise AgentError(f"its agent at {peer.address} did not answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            without_frames(error)
            raise AgentError(f"its agent at {peer.address} cannot be asked: {error or type(error).__name__}") from error


@asynccontextmanager
async def open_agents() -> AsyncGenerator[Agents]:
    """Open the connections to agents while the block runs."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True, limit=0)) as session:
        yield HttpAgents(session)


@lru_cache(maxsize=256)
def _context(bundle: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the CAs of one cluster and no others."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=bundle)
    return context
