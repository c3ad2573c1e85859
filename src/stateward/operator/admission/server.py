"""The webhook's server: one address, over TLS, as long as the operator runs.

Every operator answers, leader or not. A change that cannot be judged is accepted: a failing webhook must not block the
repair of a cluster.
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
from stateward.kube.timing.background import in_background
from stateward.kube.timing.clock import Clock
from stateward.operator.admission import search_objects
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.keys import Keys, keys
from stateward.operator.admission.packages import PackageReviews
from stateward.operator.admission.registration import register
from stateward.operator.admission.reviews import Review, review, too_deep, uid_of
from stateward.operator.objects.kinds import CLUSTER_KINDS
from stateward.operator.runtime.listener import Limits, serve

_log = structlog.get_logger(__name__)

PATH = "/validate"
PATH_PACKAGES = "/validate/packages"
PATH_SEARCH_OBJECTS = "/validate/searchobjects"
RENEWAL, RETRY = 600.0, 10.0
"""Seconds between two checks of the certificate and its trust; the second value applies after a failure."""
LARGEST = 8 << 20
"""Bytes of a question: two objects of the largest size that etcd takes, and room."""
CONNECTIONS = 128
"""Several API servers may call, and each opens a connection for every concurrent request."""

Judge = Callable[[Cluster, Cluster | None], Awaitable[Verdict]]
"""Decides about a new cluster, or a changed one and what it was before."""


RECORDS: dict[str, type[Cluster]] = {kind.resource.kind: kind.resource.view for kind in CLUSTER_KINDS}
"""What a cluster of each kind is read as."""


def _context(shown: Keys | None = None, accepted: str | None = None) -> ssl.SSLContext:
    """Return the TLS context with the certificate; with accepted CAs it requires one of their client certificates."""
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
    package_reviews: PackageReviews | None = None
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
        if self.package_reviews is None:
            return web.json_response(review(uid_of(question), Verdict()))
        return web.json_response(await self.package_reviews.respond(question))

    async def answer_on_search_objects(self, request: web.Request) -> web.Response:
        """Answer one question about a declared object."""
        return web.json_response(await search_objects.respond(await request.read()))

    @asynccontextmanager
    async def serving(self, host: str, port: int) -> AsyncGenerator[int]:
        """Serve while the block runs; yields the port. Raises OSError when it is taken."""
        routes = [
            web.post(PATH, self.answer),
            web.post(PATH_PACKAGES, self.answer_on_packages),
            web.post(PATH_SEARCH_OBJECTS, self.answer_on_search_objects),
        ]
        async with serve(
            host, port, routes, limits=Limits(CONNECTIONS, body=LARGEST), tls=lambda: self.context
        ) as bound:
            yield bound

    async def renew(self) -> None:
        """Make the API server trust the current certificate, and show it from then on.

        Raises ApiError, and OSError or ValueError if the clients' CA cannot be read; the previous certificate then
        stays.
        """
        accepted = "" if self.client_ca is None else self.client_ca.read_text(encoding="ascii")
        found = await keys(self.api, self.namespace, self.clock.now().timestamp())
        context = self.context
        if (found, accepted) != (self.shown, self.accepted):
            context = _context(found, None if self.client_ca is None else accepted)
        # Trusted first: an API server skips a webhook whose certificate it does not trust.
        if await register(self.api, found.trusted):
            _log.info("the webhook is registered", namespace=self.namespace)
        self.context, self.shown, self.accepted = context, found, accepted
        self.ready.set()

    async def keep_up(self) -> None:
        """Maintain the certificate until cancelled."""
        while True:
            wait = RENEWAL
            try:
                await self.renew()
            except (ApiError, KeyError, TypeError, ValueError, OSError) as error:
                # This includes the effects of a broken Secret or configuration: after its correction no restart of the
                # operator is needed.
                _log.warning("the webhook is not ready", error=f"{type(error).__name__}: {error}")
                wait = RETRY
            await self.clock.sleep(wait)


@asynccontextmanager
async def open_webhook(webhook: Webhook, host: str, port: int) -> AsyncGenerator[int]:
    """Serve and maintain the certificate for the block; yields the port."""
    async with webhook.serving(host, port) as bound, in_background(webhook.keep_up()):
        yield bound


async def respond(judge: Judge, question: bytes) -> Json:
    """Return the answer to a request; an unreadable one is accepted, with a warning."""
    try:
        asked = msgspec.json.decode(question, type=Review).request
        record = RECORDS[asked.kind.kind]
        new = msgspec.json.decode(asked.object, type=record | None)
        old = msgspec.json.decode(asked.old_object, type=record | None)
    except (msgspec.DecodeError, KeyError) as error:
        _log.warning("a request of the API server cannot be read", error=str(error))
        return review(uid_of(question), Verdict())
    except RecursionError:
        return await too_deep(question)
    return review(asked.uid, Verdict() if new is None else await judge(new, old))
