"""The events that a viewer receives: each part of the page's data, when it has changed."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from stateward import __version__
from stateward.cli.page.board import Board
from stateward.kube.timing.background import in_background
from stateward.timeline.phases import BANDS, STYLES

CHANGES = 60
"""Latest changes that a viewer receives."""
LIFETIME = 600.0
"""Seconds of one stream: the browser then opens the next one, and is checked again."""
BEAT = 2.0
"""Seconds between two events if nothing changes: a broken connection is noticed."""


async def events(board: Board, ref: str) -> AsyncGenerator[bytes]:
    """Yield server-sent events until cancelled: the list, or with a `ref` one cluster."""
    viewer = Viewer(board, ref)
    async with in_background(*((board.watch(ref),) if ref else ())):
        yield viewer.hello()
        end = time.monotonic() + LIFETIME
        while not board.closed and time.monotonic() < end:
            seen = board.round
            yield b"".join(viewer.news())
            with suppress(TimeoutError):
                await asyncio.wait_for(board.updated(seen), BEAT)


class Viewer:
    """One viewer, and what was sent to it."""

    def __init__(self, board: Board, ref: str) -> None:
        self._board, self._ref = board, ref
        self._sent: dict[str, bytes] = {}
        self._rows: dict[str, bytes] = {}

    def hello(self) -> bytes:
        """Return the first event: what kind of page this is."""
        host = self._board.host
        looks = {"phases": STYLES, "bands": BANDS}
        told = {"host": host.name, "readOnly": host.read_only, "version": __version__, **looks}
        return event("hello", encoded(told))

    def news(self) -> Iterator[bytes]:
        """Yield an event for each part that has changed, and the clock."""
        host = self._board.host
        now, rate = host.clock
        yield event("clock", encoded({"now": now, "rate": rate, "trouble": host.trouble}))
        yield from self._list()
        if self._ref:
            detail = self._board.detail(self._ref)
            yield from self._part("cluster", msgspec.Raw(detail) if detail is not None else None)
            yield from self._timeline()
        yield from self._part("extra", host.extra())

    def _timeline(self) -> Iterator[bytes]:
        """Yield the timeline and the latest changes; the page itself extends what lasts until now."""
        found = self._board.timeline(self._ref)
        if found is not None:
            seen, timeline = found
            yield from self._part("timeline", replace(timeline, end=0.0, now=None))
            yield from self._part("changes", seen.changes[-CHANGES:])

    def _list(self) -> Iterator[bytes]:
        rows = dict(self._board.rows)
        changed = [msgspec.Raw(row) for ref, row in rows.items() if self._rows.get(ref) is not row]
        gone = [ref for ref in self._rows if ref not in rows]
        if changed or gone or not self._sent:
            yield event("clusters", encoded({"rows": changed, "gone": gone, "total": len(rows)}))
        self._rows = rows

    def _part(self, name: str, value: object) -> Iterator[bytes]:
        body = encoded(value)
        if self._sent.get(name) != body:
            self._sent[name] = body
            yield event(name, body)


def event(name: str, body: bytes) -> bytes:
    """Return a server-sent event; a body of JSON has no line break."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), body)


def encoded(value: object) -> bytes:
    """Return the JSON of a record."""
    return msgspec.json.encode(value)
