"""Fencing for writers: a block of work that always ends before the lease does.

Without it, a delete could be sent while this process holds the lease, wait for a connection, a throttling server or a
slow network, and arrive when another process leads and has taken down another member.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from stateward.kube.client.client import (
    Api,
    ApplyOptions,
    Body,
    DeleteOptions,
    ListOptions,
    Page,
    PatchKind,
    RawRequest,
    WatchStart,
)
from stateward.kube.objects.metadata import Key, T
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.watching import WatchEvent

READING = ("GET", "HEAD")


class LostLease(Exception):  # noqa: N818 - an orderly end, not an error
    """The lease is no longer certainly held; the next leader does the pending writes."""


Fence = Callable[[], AbstractAsyncContextManager[None]]
"""Opens a block in which writes may be sent; raises LostLease if the block may not begin or is cut off.

All waiting within the block counts: for a slot, a pause that the server requests, a connection, the answer.
"""


def unfenced() -> AbstractAsyncContextManager[None]:
    """Return a block without a limit, for a process without competitors."""
    return nullcontext()


def read_only() -> AbstractAsyncContextManager[None]:
    """Open no block: for what must not write, with the lease or without it. Raise LostLease."""
    raise LostLease("nothing is written here: these are reads without the lease")


class FencedApi:
    """An `Api` that fences every write; reads pass unchanged.

    All writes go through it, so no part of a program can forget the fence.
    """

    def __init__(self, api: Api, fence: Fence) -> None:
        self._api = api
        self._fence = fence

    async def get(self, resource: Resource[T], key: Key) -> T:
        """Read one object."""
        return await self._api.get(resource, key)

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        """Read one page of a list."""
        return await self._api.list(resource, selection, options)

    def watch(
        self, resource: Resource[T], selection: Selection, start: WatchStart
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Follow changes."""
        return self._api.watch(resource, selection, start)

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        """Create an object; raise LostLease, as all writes do."""
        async with self._fence():
            return await self._api.create(resource, body, namespace=namespace)

    async def apply(self, resource: Resource[T], key: Key, body: Body, options: ApplyOptions) -> T:
        """Server-side apply."""
        async with self._fence():
            return await self._api.apply(resource, key, body, options)

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        """Patch an object or its subresource."""
        async with self._fence():
            return await self._api.patch(resource, key, body, kind=kind, subresource=subresource)

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        """Delete one exact object."""
        async with self._fence():
            return await self._api.delete(resource, key, options)

    async def evict(self, key: Key, options: DeleteOptions) -> None:
        """Evict a pod within its disruption budget."""
        async with self._fence():
            await self._api.evict(key, options)

    def acting_as(self, user: str) -> "FencedApi":
        """Return the same API with the rights of another user and within the same fence."""
        return FencedApi(self._api.acting_as(user), self._fence)

    async def request(self, request: RawRequest) -> bytes:
        """Send a request outside the object model; all requests that may write are fenced."""
        async with unfenced() if request.method in READING else self._fence():
            return await self._api.request(request)
