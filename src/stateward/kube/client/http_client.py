"""The API client for a real server, over aiohttp and msgspec."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from copy import copy
from types import TracebackType
from typing import Any, Self

import msgspec

from stateward.kube.access.connection import Connection
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
from stateward.kube.client.decoding import decode_event, decode_object, decode_page, is_gone
from stateward.kube.client.exec_stream import PROTOCOL, output
from stateward.kube.client.transport import Call, Limits, Transport
from stateward.kube.objects.errors import DecodeError
from stateward.kube.objects.metadata import Key, T
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.resources import PODS
from stateward.kube.objects.watching import WatchEvent
from stateward.kube.timing.clock import Clock, SystemClock

_APPLY = "application/apply-patch+yaml"
_encoder = msgspec.json.Encoder()


class HttpApi:
    """`Api` over HTTP. Use it as an async context manager, or call `close` at the end; see `Api` for the methods.

    `told` gets the date of each answer, in seconds since the epoch.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Clock | None = None,
        limits: Limits | None = None,
        user_agent: str = "stateward",
        told: Callable[[float], None] | None = None,
    ) -> None:
        self._transport = Transport(
            connection, clock=clock or SystemClock(), limits=limits or Limits(), user_agent=user_agent, told=told
        )

    def acting_as(self, user: str) -> "HttpApi":
        """Return a client with the rights of another user over the connections of this one; this one closes them."""
        other = copy(self)
        other._transport = self._transport.acting_as(user)  # noqa: SLF001 - of the same class
        return other

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def get(self, resource: Resource[T], key: Key) -> T:
        """Read one object."""
        body = await self._transport.send(Call("GET", resource.path_of(key), accept=_accept(resource)))
        return decode_object(resource.view, body)

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        """Read one page of a list."""
        query = {**selection.query(), **_list_query(options or WHOLE)}
        call = Call("GET", resource.path(selection.namespace), query, accept=_accept(resource, of_list=True))
        return decode_page(resource.view, await self._transport.send(call))

    async def watch(
        self, resource: Resource[T], selection: Selection, start: WatchStart
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Follow changes."""
        query = {**selection.query(), **_watch_query(start)}
        call = Call("GET", resource.path(selection.namespace), query, accept=_accept(resource))
        async with aclosing(self._transport.lines(call)) as lines:
            async for line in lines:
                yield decode_event(resource.view, line)

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        """Create an object."""
        call = Call("POST", resource.path(namespace), body=_encoder.encode(body), accept=_accept(resource))
        return await self._write(resource, call)

    async def apply(self, resource: Resource[T], key: Key, body: Body, options: ApplyOptions) -> T:
        """Server-side apply."""
        query = {"fieldManager": options.manager, "force": str(options.force).lower()}
        if options.dry_run:
            query["dryRun"] = "All"
        path = resource.path_of(key, options.subresource)
        return await self._write(resource, Call("PATCH", path, query, _encoder.encode(body), _APPLY, _accept(resource)))

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        """Patch an object or its subresource."""
        path = resource.path_of(key, subresource)
        return await self._write(
            resource, Call("PATCH", path, {}, _encoder.encode(body), kind.value, _accept(resource))
        )

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        """Delete one exact object."""
        body = _encoder.encode(_delete_options(options))
        answer = await self._transport.send(Call("DELETE", resource.path_of(key), body=body, accept=_accept(resource)))
        return None if is_gone(answer) else decode_object(resource.view, answer)

    async def evict(self, key: Key, options: DeleteOptions) -> None:
        """Evict a pod within its disruption budget."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "deleteOptions": _delete_options(options),
        }
        path = f"/api/v1/namespaces/{key.namespace}/pods/{key.name}/eviction"
        # Here a 429 comes from the disruption budget, not from throttling: the caller decides when to retry.
        await self._transport.send(Call("POST", path, body=_encoder.encode(eviction), patient=False))

    async def request(self, request: RawRequest) -> bytes:
        """Send a request outside the object model."""
        body = None if request.body is None else _encoder.encode(request.body)
        call = Call(
            request.method, request.path, request.query or {}, body, accept="*/*", headers=request.headers or {}
        )
        return await self._transport.send(call)

    async def lines(self, request: RawRequest) -> AsyncGenerator[bytes]:
        """Yield the lines of an endless answer, such as a log that is followed; raise ApiError."""
        call = Call(request.method, request.path, request.query or {}, accept="*/*")
        # What a program writes last may have no end of line.
        async with aclosing(self._transport.lines(call, torn=True)) as lines:
            async for line in lines:
                yield line

    async def execute(self, pod: Key, container: str, command: Sequence[str], limit: int) -> bytes:
        """Run a command in a container and return its output, at most `limit` bytes; raise ExecError or ApiError."""
        query = [("container", container), ("stdout", "true"), ("stderr", "true")]
        query += [("command", word) for word in command]
        async with self._transport.socket(PODS.path_of(pod, "exec"), PROTOCOL, query) as socket:
            return await output(socket, limit)

    async def _write(self, resource: Resource[T], call: Call) -> T:
        answer = await self._transport.send(call)
        try:
            return decode_object(resource.view, answer)
        except DecodeError as error:
            raise DecodeError(error.message, may_have_committed=True) from error


def _accept(resource: Resource[Any], *, of_list: bool = False) -> str:
    if not resource.partial:
        return "application/json"
    kind = "PartialObjectMetadataList" if of_list else "PartialObjectMetadata"
    return f"application/json;as={kind};g=meta.k8s.io;v=v1"


def _list_query(options: ListOptions) -> dict[str, str]:
    pairs = {"continue": options.continue_token, "limit": str(options.limit) if options.limit else ""}
    if not options.continue_token:
        # The token already contains a version; the server refuses both together.
        pairs["resourceVersion"] = options.resource_version
    return {name: value for name, value in pairs.items() if value}


def _watch_query(start: WatchStart) -> dict[str, str]:
    query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(start.timeout_seconds)}
    if start.resource_version:
        query["resourceVersion"] = start.resource_version
    if start.initial_state:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    return query


def _delete_options(options: DeleteOptions) -> dict[str, Any]:
    pinned = {"uid": options.preconditions.uid, "resourceVersion": options.preconditions.resource_version}
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {name: value for name, value in pinned.items() if value},
        "propagationPolicy": options.propagation.value,
    }
    if options.grace_seconds is not None:
        body["gracePeriodSeconds"] = options.grace_seconds
    if options.dry_run:
        body["dryRun"] = ["All"]
    return body
