"""The operator's `Api` protocol on the server in memory."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from copy import copy
from typing import Any, TypeVar, cast

import msgspec

from stateward.kube.client.client import (
    WHOLE,
    ApplyOptions,
    Body,
    DeleteOptions,
    ListOptions,
    Page,
    PatchKind,
    RawRequest,
    WatchStart,
)
from stateward.kube.objects.errors import DecodeError, TransportError
from stateward.kube.objects.metadata import Key, ObjectMeta, T
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.resources import PODS
from stateward.kube.objects.watching import Unreadable, WatchEvent
from stateward.simulation.apiserver.audit import Audit, Unaudited, Write
from stateward.simulation.apiserver.documents import Doc, part
from stateward.simulation.apiserver.kinds import KINDS
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.refusals import unserved
from stateward.simulation.apiserver.selectors import matches
from stateward.simulation.apiserver.store import Event, Store, Stored
from stateward.simulation.apiserver.watches import Cursor, bookmark, gone
from stateward.simulation.apiserver.writing.writes import Server

BOOKMARKS = 120.0
"""Seconds between the bookmarks of a quiet stream; less than the client's timeout."""

R = TypeVar("R")


def kind_name(resource: Resource[Any]) -> str:
    """Return the name under which the server keeps a kind."""
    return f"{resource.group}/{resource.plural}"


def document(body: object) -> Doc:
    """Return a body as the JSON document that a server would read."""
    return cast("Doc", msgspec.json.decode(msgspec.json.encode(body)))


class ChangeSignal:
    """Wakes the watch streams that wait for a change of a kind."""

    def __init__(self, store: Store) -> None:
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        store.subscribers.append(self._ring)

    async def wait(self, kind: str, until: float) -> None:
        """Wait for a change of a kind, at most until a time of the loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(kind, []).append(future)
        timer = loop.call_at(until, _wake, future)
        try:
            await future
        finally:
            timer.cancel()
            waiting = self._waiting.get(kind, [])
            if future in waiting:
                waiting.remove(future)

    def _ring(self, kind: str, _: Event) -> None:
        for future in self._waiting.pop(kind, ()):
            _wake(future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class WorldApi:
    """One client of the server in memory; `name` is the field manager of its writes."""

    def __init__(
        self,
        server: Server,
        change_signal: ChangeSignal,
        network: Network,
        name: str = "client",
        audit: Audit | None = None,
    ) -> None:
        self.network = network
        self._audit = audit or Unaudited()
        self.name = name
        self._server = server
        self._store = server.store
        self._change_signal = change_signal
        self.user = ""

    def acting_as(self, user: str) -> "WorldApi":
        """Return the same client with another user's name; the world has no authorization."""
        other = copy(self)
        other.user = user
        return other

    async def get(self, resource: Resource[T], key: Key) -> T:
        """Read one object."""
        await self._reach(resource)
        self._audit.read(kind_name(resource), key)
        return _decode(resource, self._server.get(kind_name(resource), _placed(resource, key)))

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        """Read one page of a list."""
        await self._reach(resource)
        options = options or WHOLE
        kind = kind_name(resource)
        version, start = self._place(kind, options)
        if version == self._store.version:
            self._audit.listed(kind, selection)
        found = [s for s in self._store.state_at(kind, version) if _selects(selection, s)]
        found.sort(key=lambda s: s.key)
        end = start + options.limit if options.limit else len(found)
        token = f"{version}:{end}" if end < len(found) else ""
        return _page(resource, found[start:end], version, token)

    async def watch(
        self, resource: Resource[T], selection: Selection, start: WatchStart
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Follow changes."""
        await self._reach(resource)
        held = 0.0
        kind = kind_name(resource)
        cursor = Cursor(self._store, kind, selection, lambda stored: _decode(resource, stored))
        if start.initial_state or start.resource_version in {"", "0"}:
            version, behind = self._stale(kind), max(0.0, self.network.due(kind, self._now) - self._now)
            if version < self._store.version:
                # A server that lags answers at once with its state, and sends the rest when it has caught up.
                held = self._now + behind
            else:
                await self._sleep(behind)
            events = list(cursor.state(version))
            for event in events if start.initial_state else events[:-1]:
                yield event
        else:
            version = int(start.resource_version)
        cursor.start_after(version)
        async for event in self._follow(cursor, kind, start, held):
            yield event

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        """Create an object."""
        doc = {"apiVersion": resource.api_version, "kind": resource.kind, **document(body)}
        key = Key(namespace, part(doc, "metadata").get("name", ""))
        write = Write("create", kind_name(resource), key, doc)
        return await self._write(resource, write, lambda: self._server.create(write.kind, namespace, doc, self.name))

    async def apply(self, resource: Resource[T], key: Key, body: Body, options: ApplyOptions) -> T:
        """Server-side apply."""
        doc = {"apiVersion": resource.api_version, "kind": resource.kind, **document(body)}
        key = _placed(resource, key)
        write = Write("apply", kind_name(resource), key, doc)
        if options.dry_run:
            await self._reach(resource)
            return _decode(resource, self._server.apply(write.kind, key, doc, options))
        return await self._write(resource, write, lambda: self._server.apply(write.kind, key, doc, options))

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        """Patch an object or its subresource."""
        doc, key = document(body), _placed(resource, key)
        write = Write("patch", kind_name(resource), key, doc if kind is PatchKind.MERGE else {}, subresource)
        return await self._write(
            resource, write, lambda: self._server.patch(write.kind, key, doc, kind, subresource, self.name)
        )

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        """Delete one exact object."""
        key = _placed(resource, key)
        write = Write("delete", kind_name(resource), key, {}, options=options)
        left = await self._request(write, resource, lambda: self._server.delete(write.kind, key, options))
        return None if left is None else _decode(resource, left)

    async def evict(self, key: Key, options: DeleteOptions) -> None:
        """Evict a pod within its disruption budget."""
        await self._request(
            Write("evict", "/pods", key, {}, options=options), PODS, lambda: self._server.evict(key, options)
        )

    async def request(self, request: RawRequest) -> bytes:
        """Send a request outside the object model: the server's version and health, and the identity of the client."""
        await self._reach()
        if request.path.endswith("/selfsubjectreviews"):
            return msgspec.json.encode({"status": {"userInfo": {"username": self.user or self.name}}})
        return b'{"major":"1","minor":"34","gitVersion":"v1.34.4"}' if request.path == "/version" else b"ok"

    @property
    def _now(self) -> float:
        return self._store.monotonic()

    async def _write(self, resource: Resource[T], write: Write, do: Callable[[], Stored]) -> T:
        stored = await self._request(write, resource, do)
        try:
            if write.subresource == "scale":
                return cast("T", {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": stored.doc["spec"]})
            return _decode(resource, stored)
        except DecodeError as error:
            raise DecodeError(error.message, may_have_committed=True) from error

    async def _request(self, write: Write, resource: Resource[Any], do: Callable[[], R]) -> R:
        await self._reach(resource)
        before = self._store.version
        self._audit.writing(write)
        result = do()
        if self._store.version != before:
            self._audit.wrote(write)
            self.network.write_done(write.verb, write.kind)
        await self._back()
        if self.network.loses():
            raise TransportError("the connection broke before the answer came", may_have_committed=True)
        return result

    async def _reach(self, resource: Resource[Any] | None = None) -> None:
        self._alive()
        await self._sleep(self.network.latency() + self.network.hindrance())
        self._alive()
        if resource is not None and kind_name(resource) not in KINDS:
            raise unserved(kind_name(resource))
        error = self.network.refuse()
        if error is not None:
            raise error

    async def _back(self) -> None:
        await self._sleep(self.network.latency())
        self._alive()

    async def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            await asyncio.sleep(seconds)

    def _alive(self) -> None:
        # A killed process does nothing more, not even in its `finally` blocks.
        if self.network.dead:
            raise asyncio.CancelledError

    def _stale(self, kind: str) -> int:
        return max(
            self._store.log(kind).compacted,
            self._store.version - self.network.stales.get(kind, self.network.rates.stale),
        )

    def _place(self, kind: str, options: ListOptions) -> tuple[int, int]:
        if options.continue_token:
            version, _, offset = options.continue_token.partition(":")
            if int(version) < self._store.log(kind).compacted:
                raise gone(int(version), self._store.log(kind).compacted)
            return int(version), int(offset)
        return (self._stale(kind) if options.resource_version == "0" else self._store.version), 0

    async def _follow(self, cursor: Cursor, kind: str, start: WatchStart, held: float) -> AsyncGenerator[Any, None]:
        end = self._now + start.timeout_seconds
        broken = self._now + self.network.life()
        quiet = self._now
        # The server sends a bookmark before it ends a stream, so that the next stream starts there.
        last = end - 2.0
        while True:
            self._alive()
            now = self._now
            if now >= min(end, broken):
                if broken < end:
                    self.network.count("watch broke")
                    raise TransportError("the stream broke")
                return
            event = cursor.pending()
            due = max(held, self.network.due(kind, event.at)) if event is not None else float("inf")
            if event is not None and due <= now:
                seen = cursor.take(event)
                if seen is not None:
                    quiet = now
                    yield seen
                continue
            if event is None and now >= min(quiet + BOOKMARKS, last) and now >= self.network.frozen_until:
                quiet, last = now, last if now < last else end
                yield bookmark(self._store.version)
                continue
            until = min(end, broken, due, max(min(quiet + BOOKMARKS, last), self.network.frozen_until))
            if event is not None:
                await self._sleep(max(until - now, 0.001))
            else:
                await self._change_signal.wait(kind, until)


def _placed(resource: Resource[Any], key: Key) -> Key:
    return key if resource.namespaced else Key("", key.name)


def _selects(selection: Selection, stored: Stored) -> bool:
    return matches(stored, selection.namespace, selection.labels, selection.fields)


def _decode(resource: Resource[T], stored: Stored) -> T:
    if resource.view is dict or getattr(resource.view, "__origin__", None) is dict:
        return cast("T", document(_partial(stored.doc) if resource.partial else stored.doc))
    try:
        return cast("T", stored.view(resource.view))
    except msgspec.ValidationError as error:
        raise DecodeError(f"cannot read the server's answer: {error}") from error


def _partial(doc: Doc) -> Doc:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": doc["metadata"]}


def _page(resource: Resource[T], found: Sequence[Stored], version: int, token: str) -> Page[T]:
    items: list[T] = []
    unreadable: list[Unreadable] = []
    for stored in found:
        try:
            items.append(_decode(resource, stored))
        except DecodeError as error:
            unreadable.append(Unreadable(msgspec.convert(stored.meta, ObjectMeta), str(error)))
    return Page(tuple(items), str(version), token, tuple(unreadable))
