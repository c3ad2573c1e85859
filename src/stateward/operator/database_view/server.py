"""The endpoint, over TLS, with a token in a header: what a database reports, and what a resource would change.

Users reach it through the API server's proxy for Services, which removes the header Authorization: the token has a
header of its own. It is one for this endpoint alone, which the API server refuses, so this process cannot act with it;
or the user's own, if the user says so. First the user is authenticated, then the right is checked, and only then
anything about the cluster is looked up: an answer never tells whether a cluster exists that the user may not get.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog
from aiohttp import web

from stateward.api.schema.custom_resources import SEARCH_OBJECT, SEARCH_RESTORE, SEARCH_USER, Kind
from stateward.engines.connection.access import show
from stateward.engines.search.declared.preview import ObjectPreview
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.operator.database_view.address import AUDIENCE, PATH, PREVIEW_PATH, SERVICE, TOKEN_HEADER
from stateward.operator.database_view.answers import encode, shown
from stateward.operator.database_view.reviews import User, may_create, may_get, may_preview, user_of
from stateward.operator.objects.kinds import CLUSTER_KINDS
from stateward.operator.runtime.listener import serve
from stateward.pki import Pair, issue, new_authority
from stateward.planning.model.database import Database, Unknown

_log = structlog.get_logger(__name__)

PLURALS = frozenset(kind.resource.plural for kind in CLUSTER_KINDS)
PREVIEWED: Mapping[str, Kind] = {kind.plural: kind for kind in (SEARCH_OBJECT, SEARCH_USER, SEARCH_RESTORE)}
"""The kinds of resources that can be previewed, by plural."""
CONCURRENT = 4
"""Requests that are answered at once; each asks the API server two to four times and a database once."""
OF_ONE_NAMESPACE = 2
"""Of these, requests about the databases of one namespace: those of another one must not wait for a slow one."""
NO_TOKEN = f"the header {TOKEN_HEADER} has no token that the API server accepts, for itself or for {AUDIENCE}"
BUSY = "other requests are being answered; try again"
YEARS = 1.0
"""The life of the certificate, which no process outlives by much: it is made at the start, and renewed in time."""
RENEWAL = YEARS * 365 * 86400 / 2

Ask = Callable[[str, Key], Awaitable[Database | Unknown | None]]
"""Returns what a cluster's database reports, by the plural of its kind; None if there is no such cluster."""

AskPreview = Callable[[str, Any], Awaitable[ObjectPreview]]
"""Returns what a resource would change, by its plural, or why that is not known."""


@dataclass(slots=True)
class DatabaseViewServer:
    """Answers requests about databases."""

    api: Api
    ask: Ask
    namespace: str
    clock: Clock
    preview: AskPreview | None = None
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CONCURRENT))
    busy: Counter[str] = field(default_factory=Counter[str])
    """How many requests of allowed users are being answered, by namespace."""
    _context: ssl.SSLContext | None = None
    _made: float = 0.0

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one request, or refuse it."""
        plural = request.match_info["plural"]
        key = Key(request.match_info["namespace"], request.match_info["name"])
        if plural not in PLURALS:
            return refusal(404, "no such kind of cluster")
        if self.slots.locked():
            return refusal(429, BUSY)
        async with self.slots:
            try:
                return await self._answer(request.headers.get(TOKEN_HEADER, ""), plural, key)
            except ApiError as error:
                _log.warning("a request for a database's report cannot be judged", error=error.message)
                return refusal(503, "the API server cannot be asked about your rights now")

    async def _answer(self, token: str, plural: str, key: Key) -> web.Response:
        user = await self._user(token)
        if user is None:
            return refusal(401, NO_TOKEN)
        if not await may_get(self.api, user, plural, key):
            return refusal(403, f"you may not get {plural} {key}")
        if self.busy[key.namespace] >= OF_ONE_NAMESPACE:
            return refusal(429, BUSY)
        with self._counted(key.namespace):
            found = await self.ask(plural, key)
        if found is None:
            return refusal(404, f"this operator process manages no {plural} {key}")
        return web.Response(body=encode(shown(found)), content_type="application/json")

    async def answer_preview(self, request: web.Request) -> web.Response:
        """Answer what a resource would change, to a user that may create or preview such resources, or refuse it."""
        kind = PREVIEWED.get(request.match_info["plural"])
        if self.preview is None or kind is None:
            return refusal(404, f"this operator process previews no {request.match_info['plural']}")
        if self.slots.locked():
            return refusal(429, BUSY)
        async with self.slots:
            try:
                return await self._preview(request, request.match_info["namespace"], kind, self.preview)
            except ApiError as error:
                _log.warning("a request for a preview cannot be judged", error=error.message)
                return refusal(503, "the API server cannot be asked about your rights now")

    async def _preview(self, request: web.Request, namespace: str, kind: Kind, ask: AskPreview) -> web.Response:
        user = await self._user(request.headers.get(TOKEN_HEADER, ""))
        if user is None:
            return refusal(401, NO_TOKEN)
        # The answer shows what is stored. A user who may create a role mapping or a user can get any access to the
        # database. A restore shows the names of indices, which its status shows, too.
        if not await self._may_preview(user, kind.plural, namespace):
            return refusal(403, f"you may neither create nor preview {kind.plural} in {namespace}")
        try:
            offered: Any = msgspec.json.decode(await request.read(), type=kind.record)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return refusal(400, f"this is no {kind.name}: {error}")
        offered = msgspec.structs.replace(
            offered, metadata=msgspec.structs.replace(offered.metadata, namespace=namespace)
        )
        if self.busy[namespace] >= OF_ONE_NAMESPACE:
            return refusal(429, BUSY)
        with self._counted(namespace):
            found = await ask(kind.plural, offered)
        return web.Response(body=msgspec.json.encode(found), content_type="application/json")

    @contextmanager
    def _counted(self, namespace: str) -> Generator[None]:
        """Count a request about a namespace as being answered for the block."""
        self.busy[namespace] += 1
        try:
            yield
        finally:
            self.busy[namespace] -= 1
            if not self.busy[namespace]:
                del self.busy[namespace]

    async def _user(self, token: str) -> User | None:
        """Return the user of a token for this endpoint or for the API server; None if it is neither. Raise ApiError."""
        return await user_of(self.api, token, AUDIENCE) or await user_of(self.api, token)

    async def _may_preview(self, user: User, plural: str, namespace: str) -> bool:
        if await may_create(self.api, user, plural, namespace):
            return True
        return await may_preview(self.api, user, plural, namespace)

    def context(self) -> ssl.SSLContext:
        """Return the TLS context, with a certificate that is renewed long before it expires."""
        now = self.clock.now().timestamp()
        if self._context is None or now - self._made > RENEWAL:
            self._context, self._made = _context(certificate(self.namespace, now)), now
        return self._context

    @asynccontextmanager
    async def serving(self, host: str, port: int) -> AsyncGenerator[int]:
        """Serve for the block; yields the port. Raises OSError if it is in use."""
        routes = [web.get(PATH, self.answer), web.post(PREVIEW_PATH, self.answer_preview)]
        async with serve(host, port, routes, tls=self.context) as bound:
            yield bound


def refusal(code: int, why: str) -> web.Response:
    """Return a refusal with its reason, in the API server's own form."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": why}
    return web.json_response(body, status=code)


def certificate(namespace: str, now: float) -> Pair:
    """Return a new certificate of the Service, of an authority that exists only for it."""
    names = [f"{SERVICE}.{namespace}.svc", f"{SERVICE}.{namespace}.svc.cluster.local"]
    authority = new_authority("stateward database view", now, YEARS).signs
    return issue(authority, names[0], names, now, YEARS * 365)


def _context(pair: Pair) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    show(made, pair.certificate, pair.key)
    return made
