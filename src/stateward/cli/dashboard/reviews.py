"""Access to the page of the operator: Kubernetes authenticates and authorizes each token.

A client shows a token of Kubernetes, as an authenticating proxy passes it on. TokenReview says whose it is, and
SubjectAccessReview whether that user may list and get the clusters: the page shows what their databases report, and
the database view shows that only to a user that may get the cluster. Answers are kept for a minute.
"""

from collections.abc import Collection, Sequence
from hashlib import sha256

from aiohttp import web

from stateward.cli.page.guard import comes_from, names_one_of, refused
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.operator.database_view.reviews import may_get, may_list, user_of
from stateward.operator.objects.kinds import CLUSTER_KINDS

KEPT_SECONDS = 60.0
KEPT = 1000
"""Tokens whose answers are kept."""
OTHER_NAME = "the page has another name; if a proxy keeps the name in Host, name it with --page-name"
PATH = "page"
"""The first part of the page's path."""


class ReviewGuard:
    """Answers users of Kubernetes that may list and get all clusters of some namespaces.

    Requests without a token are answered if `hosts`, names without a port, has the one in `Host`: only a proxy in the
    same pod reaches the address, and it has authenticated its users. So does a port-forward of an administrator, whose
    browser would ask for any web site.
    """

    def __init__(self, api: Api, clock: Clock, namespaces: Sequence[str], hosts: Collection[str] = ()) -> None:
        self._api, self._clock, self._namespaces = api, clock, namespaces
        self._hosts = frozenset(host.lower() for host in hosts)
        self._known: dict[bytes, tuple[bool, float]] = {}

    async def refusal(self, request: web.Request) -> web.Response | None:
        """Return why a request is not answered; None if it is."""
        if request.match_info.get("token") != PATH:
            return refused(404, f"the page is at /{PATH}/")
        own = {request.headers.get(name, "").lower() for name in ("Host", "X-Forwarded-Host")} - {""}
        if not comes_from(request, own):
            return refused(403, "only the page itself may send this")
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            return self._without_token(request)
        try:
            allowed = await self._allowed(token)
        except ApiError as error:
            return refused(503, f"the API server does not review the token: {error.message}")
        return None if allowed else refused(403, "you may not list and get all clusters that this operator manages")

    def _without_token(self, request: web.Request) -> web.Response | None:
        if not self._hosts:
            return _unauthorized()
        return None if names_one_of(request, self._hosts) else refused(421, OTHER_NAME)

    async def _allowed(self, token: str) -> bool:
        """Return whether a token may see the page; raise ApiError."""
        key, now = sha256(token.encode()).digest(), self._clock.monotonic()
        allowed, until = self._known.get(key, (False, 0.0))
        if now < until:
            return allowed
        allowed = await self._reviewed(token)
        self._known = {known: answer for known, answer in self._known.items() if answer[1] > now}
        if len(self._known) < KEPT:
            self._known[key] = (allowed, now + KEPT_SECONDS)
        return allowed

    async def _reviewed(self, token: str) -> bool:
        user = await user_of(self._api, token)
        if user is None:
            return False
        for kind in CLUSTER_KINDS:
            for namespace in self._namespaces:
                plural = kind.resource.plural
                if not await may_list(self._api, user, plural, namespace):
                    return False
                if not await may_get(self._api, user, plural, Key(namespace, "")):
                    return False
        return True


def _unauthorized() -> web.Response:
    response = refused(401, "show a token of Kubernetes: Authorization: Bearer TOKEN")
    response.headers["WWW-Authenticate"] = "Bearer"
    return response
