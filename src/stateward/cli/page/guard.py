"""Which requests the page answers: those of a browser on the page's own address that knows the token.

The token keeps other users of the machine out. The check of `Host` prevents DNS rebinding: a foreign name that
resolves to this address. The check of `Origin`, and bodies of JSON only, prevent requests that another site makes.
"""

import re
import secrets
from collections.abc import Collection
from hmac import compare_digest
from typing import Protocol
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""On every answer: no inline script, nothing from elsewhere, no frame, and no address in other sites' logs."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def new_token() -> str:
    """Return a random token for one start of the page."""
    return secrets.token_urlsafe(24)


class Guard(Protocol):
    """Decides who is answered."""

    async def refusal(self, request: web.Request) -> web.Response | None:
        """Return why a request is not answered; None if it is."""
        ...


class TokenGuard:
    """Answers who knows the token. `hosts` are the accepted names with their port; the set may still grow."""

    def __init__(self, token: str, hosts: Collection[str]) -> None:
        self._token = token
        self._hosts = hosts

    async def refusal(self, request: web.Request) -> web.Response | None:
        """Return why a request is not answered; None if it is."""
        if not names_one_of(request, self._hosts):
            return refused(421, "this page has another address")
        if not compare_digest(request.match_info.get("token", "").encode(), self._token.encode()):
            return refused(404, "not found: the address of the page contains a token; see the terminal")
        return None if comes_from(request, self._hosts) else refused(403, "only the page itself may send this")


def names_one_of(request: web.Request, hosts: Collection[str]) -> bool:
    """Return whether `Host` is one of these, which have a port, or whose ports do not matter.

    The disaster this prevents: a web site gives its own name the address of this machine (DNS rebinding), and the
    browser of a user that visits it reads the page for it.
    """
    host = request.headers.get("Host", "").lower()
    return host in hosts or re.sub(":[0-9]+$", "", host) in hosts


def comes_from(request: web.Request, hosts: Collection[str]) -> bool:
    """Return whether a request only reads, or was sent by a page of one of these hosts."""
    if request.method in ("GET", "HEAD"):
        return True
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    origin = urlsplit(request.headers.get("Origin", "")).netloc.lower()
    return site == "same-origin" and origin in hosts and request.content_type == "application/json"


def guarded(guard: Guard, handler: Handler) -> Handler:
    """Return a handler that answers only accepted requests, with the headers of the page."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = await guard.refusal(request) or await handler(request)
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    return answer


def refused(status: int, text: str) -> web.Response:
    """Return the answer to a request that is not accepted."""
    return web.Response(status=status, text=text)
