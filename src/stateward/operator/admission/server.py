"""Answers the API server: one address, over TLS, for as long as the operator runs.

Every operator answers, whether it leads or not. What it cannot judge it lets through: a webhook that is at a loss must
not keep anybody from repairing a cluster.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import structlog
from aiohttp import web

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json
from stateward.engines.connection.access import show
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import WireRecord
from stateward.kube.timing.clock import Clock
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.keys import Keys, keys
from stateward.operator.admission.packages import PackageDesk
from stateward.operator.admission.registration import register
from stateward.operator.admission.reviews import review, too_deep, uid_of
from stateward.operator.objects.kinds import CLUSTER_KINDS
from stateward.operator.runtime.listener import Limits, serve

_log = structlog.get_logger(__name__)

PATH = "/validate"
PATH_PACKAGES = "/validate/packages"
RENEWAL, RETRY = 600.0, 10.0
"""Seconds between two looks at the certificate and at who trusts it; the second where the last one failed."""
LARGEST = 8 << 20
"""Bytes of a question: two objects of the largest size that etcd takes, and room."""
CONNECTIONS = 128
"""Of several API servers, each of which opens one for every question that it asks at the same time."""

Judge = Callable[[Cluster, Cluster | None], Awaitable[Verdict]]
"""Decides about a new cluster, or a changed one and what it was before."""


RECORDS: dict[str, type[Cluster]] = {kind.resource.kind: kind.resource.view for kind in CLUSTER_KINDS}
"""What a cluster of each kind is read as."""


class Kind(WireRecord):
    """What the question is about."""

    kind: str = ""


class Request(WireRecord):
    """What the API server wants to know; on a deletion there is no object, on a creation no old one."""

    uid: str = ""
    kind: Kind = Kind()
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class Review(WireRecord):
    """The question as it is sent."""

    request: Request = Request()


def _context(shown: Keys | None = None, accepted: str | None = None) -> ssl.SSLContext:
    """Return what shows a certificate, and asks for one of the accepted authorities; without one, nobody gets in."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    if accepted is not None:
        made.load_verify_locations(cadata=accepted)
        made.verify_mode = ssl.CERT_REQUIRED
    if shown is not None:
        show(made, shown.shown.certificate, shown.shown.key)
    return made


@dataclass(slots=True)
class Webhook:
    """The endpoint, and the upkeep of its certificate."""

    api: Api
    judge: Judge
    namespace: str
    clock: Clock
    desk: PackageDesk | None = None
    """Judges installations and packages; without one they are let through."""
    shown: Keys | None = None
    client_ca: Path | None = None
    """File with the certificates of which the API server shows one; without it, everybody is answered."""
    accepted: str = ""
    context: ssl.SSLContext = field(default_factory=_context)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a certificate is shown and the API server trusts it."""

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one question."""
        return web.json_response(await respond(self.judge, await request.read()))

    async def answer_on_packages(self, request: web.Request) -> web.Response:
        """Answer one question about an installation or a package."""
        question = await request.read()
        if self.desk is None:
            return web.json_response(review(uid_of(question), Verdict()))
        return web.json_response(await self.desk.respond(question))

    @asynccontextmanager
    async def serving(self, host: str, port: int) -> AsyncGenerator[int]:
        """Serve while the block runs; yields the port. Raises OSError when it is taken."""
        routes = [web.post(PATH, self.answer), web.post(PATH_PACKAGES, self.answer_on_packages)]
        async with serve(
            host, port, routes, limits=Limits(CONNECTIONS, body=LARGEST), tls=lambda: self.context
        ) as bound:
            yield bound

    async def renew(self) -> None:
        """Show the certificate as it is kept, and have the API server trust it.

        Raises ApiError, and OSError or ValueError when the clients' CA cannot be read; what was shown before stays.
        """
        accepted = "" if self.client_ca is None else self.client_ca.read_text(encoding="ascii")
        found = await keys(self.api, self.namespace, self.clock.now().timestamp())
        if (found, accepted) != (self.shown, self.accepted):
            self.context = _context(found, None if self.client_ca is None else accepted)
            self.shown, self.accepted = found, accepted
        if await register(self.api, found.trusted):
            _log.info("the webhook is registered", namespace=self.namespace)
        self.ready.set()

    async def keep_up(self) -> None:
        """Look after the certificate until cancelled."""
        while True:
            wait = RENEWAL
            try:
                await self.renew()
            except (ApiError, KeyError, TypeError, ValueError, OSError) as error:
                # Also what a broken Secret or configuration leads to: whoever puts it right starts no operator again.
                _log.warning("the webhook is not ready", error=f"{type(error).__name__}: {error}")
                wait = RETRY
            await self.clock.sleep(wait)


@asynccontextmanager
async def open_webhook(webhook: Webhook, host: str, port: int) -> AsyncGenerator[int]:
    """Serve and look after the certificate while the block runs; yields the port."""
    async with webhook.serving(host, port) as bound:
        upkeep = asyncio.create_task(webhook.keep_up())
        try:
            yield bound
        finally:
            upkeep.cancel()
            await asyncio.gather(upkeep, return_exceptions=True)


async def respond(judge: Judge, question: bytes) -> Json:
    """Return the answer to a question; what cannot be read is let through, and said."""
    try:
        asked = msgspec.json.decode(question, type=Review).request
        record = RECORDS[asked.kind.kind]
        new = msgspec.json.decode(asked.object, type=record | None)
        old = msgspec.json.decode(asked.old_object, type=record | None)
    except (msgspec.DecodeError, KeyError) as error:
        _log.warning("a request of the API server cannot be read", error=str(error))
        return review(uid_of(question), Verdict())
    except RecursionError:
        return too_deep(question)
    return review(asked.uid, Verdict() if new is None else await judge(new, old))
