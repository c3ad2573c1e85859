"""Where stand-in databases answer: an address for each cluster, with TLS once its members have certificates."""

import asyncio
import contextlib
import dataclasses
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from aiohttp import web
from msgspec import field

from bench.clusters import fleet
from bench.clusters.world.databases import Databases
from stateward import pki
from stateward.api.values import names
from stateward.engines.connection.access import show
from stateward.kube.cache.deltas import Delta
from stateward.kube.objects.metadata import ObjectMeta, WireRecord
from stateward.kube.objects.resources import SECRETS
from stateward.kube.objects.secret_content import text_content
from stateward.pki.files import CERTIFICATE, KEY, TRUSTED

Answering = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Secret(WireRecord):
    """A Secret with its content."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, Any] = field(default_factory=dict)


WHOLE_SECRETS = dataclasses.replace(SECRETS.viewed_as(Secret), partial=False)


class Doors:
    """Opens the addresses of databases, which give their answers through `answer`."""

    def __init__(self, answer: Answering, port: int = fleet.PORT) -> None:
        self._server = web.Server(answer, access_log=None)
        self._port = port
        self._open: dict[str, asyncio.Server] = {}
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, cluster: str, tls: ssl.SSLContext | None = None) -> None:
        """Open the address of a cluster; raise OSError where the port is taken."""
        host = fleet.address(cluster)
        self._open[cluster] = await asyncio.get_running_loop().create_server(self._server, host, self._port, ssl=tls)

    def heard(self, delta: Delta[Secret]) -> None:
        """Open the address of a cluster whose members got a certificate, and renew it there."""
        secret = delta.new
        cluster = secret.metadata.labels.get(names.LABEL_CLUSTER, "") if secret is not None else ""
        if secret is None or secret.metadata.name != f"{cluster}-tls":
            return
        files = text_content({"data": secret.data})
        self.present(cluster, pki.Pair(files[CERTIFICATE], files[KEY]), files[TRUSTED])

    def present(self, cluster: str, pair: pki.Pair, trusted: str = "") -> None:
        """Show a certificate at the address of a cluster, which it opens if it is the first; `trusted` as below."""
        known = self._contexts.get(cluster)
        if known is not None:
            show(known, pair.certificate, pair.key)
            return
        made = self._contexts[cluster] = server_context(pair, trusted)
        task = asyncio.get_running_loop().create_task(self.open(cluster, made))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def opened(self) -> None:
        """Wait until all that were to be opened are open; raise OSError where the port is taken."""
        await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        """Close all of them."""
        for each in self._open.values():
            each.close()
        await self._server.shutdown()


@contextlib.asynccontextmanager
async def doors(databases: Databases, mode: fleet.Mode, count: int) -> AsyncGenerator[Doors]:
    """Provide the doors of databases for the block; those that need no Secret are open for the first `count` clusters.

    Raise OSError where the port is taken.
    """
    made = Doors(databases.answer)
    tls = stranger(time.time()) if mode is fleet.Mode.FAILING else None
    try:
        for index in range(count if mode is not fleet.Mode.SECURED else 0):
            await made.open(fleet.name(index), tls)
        yield made
    finally:
        await made.close()


def server_context(pair: pki.Pair, trusted: str = "") -> ssl.SSLContext:
    """Return the TLS of a database's REST layer; it asks for a client's certificate if it has a CA to trust."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    show(made, pair.certificate, pair.key)
    if trusted:
        made.verify_mode = ssl.CERT_OPTIONAL
        made.load_verify_locations(cadata=trusted)
    return made


def stranger(now: float) -> ssl.SSLContext:
    """Return TLS with certificates of a CA that no cluster trusts."""
    authority = pki.new_authority("stranger", now).signs
    return server_context(pki.issue(authority, "stranger", (f"*.{fleet.NAMESPACE}.svc",), now))
