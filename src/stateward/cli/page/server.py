"""The page's HTTP: its files, the stream of events, plans, verbs, and the host's commands. All below a secret path."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import resources
from typing import TypeVar

import msgspec
from aiohttp import web

from stateward.cli.page.board import Board
from stateward.cli.page.guard import HEADERS, LOOPBACK, Guard, TokenGuard, guarded, new_token
from stateward.cli.page.host import Host
from stateward.cli.page.planned_verb import inputs_of_verb, planned
from stateward.cli.page.stream import encoded, events
from stateward.cli.page.verbs import perform, session_of
from stateward.cli.shared.failures import Failure, failure_of
from stateward.cli.shared.session import Session
from stateward.cli.status.explain import about_member
from stateward.cli.status.explanation import explain_cluster
from stateward.kube.objects.errors import ApiError
from stateward.kube.timing.background import in_background
from stateward.operator.runtime.listener import Limits, serve

SCRIPTS = ("page.js", "elements.js", "timeline.js")
"""The first imports the others."""
FILES = {
    "": ("page.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    **{name: (name, "text/javascript") for name in SCRIPTS},
}
"""The files of the page, by their path below the token."""
VIEWERS = 32
"""Connections at once: a browser uses up to six for each tab."""
BODY = 4096
"""Bytes of a request's body."""


R = TypeVar("R")


class Asked(msgspec.Struct, frozen=True):
    """A verb on a cluster, or on its member."""

    cluster: str
    verb: str = ""
    member: str = ""


class Commanded(msgspec.Struct, frozen=True):
    """A command of the host."""

    command: str


class Page:
    """Answers the requests of viewers."""

    def __init__(self, board: Board, guard: Guard) -> None:
        self._board, self._guard = board, guard
        self._plans = asyncio.Semaphore(1)

    def routes(self) -> list[web.RouteDef]:
        """Return all routes, each behind the guard."""
        posts = {"plan": self._plan, "act": self._act, "explain": self._explain, "command": self._command}
        return [
            *(web.get(f"/{{token}}/{path}", guarded(self._guard, _file(*file))) for path, file in FILES.items()),
            web.get("/{token}/events", guarded(self._guard, self._events)),
            *(web.post(f"/{{token}}/{path}", guarded(self._guard, _told(work))) for path, work in posts.items()),
        ]

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        stream = events(self._board, request.query.get("cluster", ""))
        try:
            async for data in stream:
                await response.write(data)
        except ConnectionError:
            pass  # The viewer has closed the page.
        finally:
            await stream.aclose()
        return response

    async def _plan(self, body: bytes) -> object:
        asked = msgspec.json.decode(body, type=Asked)
        async with self._plans:
            found, now = await self._with(
                asked, lambda session, name: inputs_of_verb(session, asked.verb, name, asked.member)
            )
            # A thread, because the operator's own work must not wait for a plan.
            return await asyncio.to_thread(planned, found, now)

    async def _act(self, body: bytes) -> object:
        asked = msgspec.json.decode(body, type=Asked)
        if self._board.host.read_only:
            raise Failure("this page is read-only")
        await self._with(asked, lambda session, name: perform(session, asked.verb, name, asked.member))
        return {}

    async def _explain(self, body: bytes) -> object:
        asked = msgspec.json.decode(body, type=Asked)
        cluster = self._board.cluster(asked.cluster)
        if not asked.member:
            return list(explain_cluster(cluster, self._board.host.clock[0]))
        lines, _ = await self._with(asked, lambda session, _: about_member(session, cluster, asked.member))
        return lines

    async def _command(self, body: bytes) -> object:
        await self._board.host.command(msgspec.json.decode(body, type=Commanded).command)
        return {}

    async def _with(self, asked: Asked, work: Callable[[Session, str], Awaitable[R]]) -> R:
        self._board.cluster(asked.cluster)

        async def narrowed(session: Session) -> R:
            return await work(*session_of(session, asked.cluster))

        return await self._board.host.work(narrowed)


def _file(name: str, kind: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    body = (resources.files("stateward.cli.page") / "assets" / name).read_bytes()

    async def file(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type=kind, charset="utf-8")

    return file


def _told(work: Callable[[bytes], Awaitable[object]]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Return a handler whose failures are one readable line."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return _json(200, await work(await request.read()))
        except (msgspec.DecodeError, KeyError):
            return _json(400, {"error": "the page and this program do not fit; reload the page"})
        except Failure as error:
            return _json(409, {"error": error.message})
        except ApiError as error:
            return _json(502, {"error": failure_of(error)})
        except TimeoutError:
            return _json(504, {"error": "no answer in time"})

    return answer


def _json(status: int, value: object) -> web.Response:
    return web.Response(status=status, body=encoded(value), content_type="application/json")


@asynccontextmanager
async def open_page(host: Host, address: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[str]:
    """Serve the page on this machine for the block, at a URL with a token, which it yields.

    Raise OSError if the port is in use.
    """
    token, accepted = new_token(), set[str]()
    async with guarded_page(host, TokenGuard(token, accepted), address, port) as found:
        accepted.update(f"{name}:{found}" for name in LOOPBACK)
        yield f"http://{address}:{found}/{token}/"


@asynccontextmanager
async def guarded_page(host: Host, guard: Guard, address: str, port: int) -> AsyncGenerator[int]:
    """Serve the page below any first part of the path, to those that a guard accepts; yields the port."""
    board = Board(host)
    board.update()
    limits = Limits(connections=VIEWERS, body=BODY)
    async with serve(address, port, Page(board, guard).routes(), limits=limits) as found:
        try:
            async with in_background(board.run()):
                yield found
        finally:
            await board.close()
