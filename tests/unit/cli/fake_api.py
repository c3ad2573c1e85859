"""An API server for commands: objects in a dictionary, every answer decoded as the real client does it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from copy import copy
from datetime import UTC, datetime
from typing import Any

import msgspec
from click.testing import Result

from stateward.cli.shared.session import Session, Target
from stateward.kube.client.client import (
    ApplyOptions,
    Body,
    DeleteOptions,
    ListOptions,
    Page,
    PatchKind,
    RawRequest,
    WatchStart,
)
from stateward.kube.client.decoding import decode_event, decode_object, decode_page
from stateward.kube.objects.errors import ApiError, Forbidden, NotFound, Status, UnknownResource
from stateward.kube.objects.metadata import Key, T
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.watching import WatchEvent
from stateward.kube.timing.clock import SystemClock

Run = Callable[..., Result]
"""Runs a command line."""

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


STANDARD: dict[str, Any] = {
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
}
"""The storage class that every server has that these tests speak to."""


class FixedClock(SystemClock):
    """Noon, always; durations pass as usual."""

    def now(self) -> datetime:
        return NOW


class FakeApi:
    """Serves `objects`, by plural and key; `refusal` is raised instead of any answer; `watched` feeds watches."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, Key], dict[str, Any]] = {("storageclasses", Key("", "standard")): STANDARD}
        self.served = {"osclusters", "esclusters", "fdbclusters"}
        self.refusal: ApiError | None = None
        self.watched: list[dict[str, Any]] = []
        self.patches: list[tuple[Key, Any]] = []
        self.requests: dict[str, Any] = {}
        """Answers by path: a text as it is, anything else as JSON."""
        self.queries: list[tuple[str, dict[str, str]]] = []
        self.denied: set[str] = set()
        """Plurals of the resources that the user may not read."""
        self.trial: ApiError | None = Forbidden("no right to create this")
        """The answer to a dry run; None accepts it."""
        self.user = ""
        self.lacks: set[tuple[str, str, str]] = set()
        """Rights that users lack: user, verb, and plural."""

    def add(self, plural: str, document: dict[str, Any]) -> None:
        meta = document["metadata"]
        self.objects[plural, Key(meta.get("namespace", ""), meta["name"])] = document

    async def get(self, resource: Resource[T], key: Key) -> T:
        self._refuse(resource.plural)
        if (resource.plural, key) not in self.objects:
            raise NotFound(f"{resource.plural} {key.name!r} not found", status=Status(code=404))
        return _decoded(resource, self.objects[resource.plural, key])

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        self._refuse(resource.plural)
        wanted = dict(part.split("=") for part in selection.labels.split(",") if "=" in part)
        found = [
            document
            for (plural, key), document in self.objects.items()
            if plural == resource.plural
            and selection.namespace in ("", key.namespace)
            and wanted.items() <= document["metadata"].get("labels", {}).items()
        ]
        answer = {"metadata": {"resourceVersion": "1"}, "items": found}
        return decode_page(resource.view, msgspec.json.encode(answer))

    async def watch(
        self, resource: Resource[T], selection: Selection, start: WatchStart
    ) -> AsyncGenerator[WatchEvent[T], None]:
        for event in self.watched:
            yield decode_event(resource.view, msgspec.json.encode(event))
            await asyncio.sleep(0.01)  # Whoever follows gets to see each state.
        await asyncio.Event().wait()

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        found = await self.get(resource, key)
        self.patches.append((key, body))
        return found

    def acting_as(self, user: str) -> "FakeApi":
        other = copy(self)
        other.user = user
        return other

    async def request(self, request: RawRequest) -> bytes:
        self._refuse()
        path = request.path
        if path.endswith("/selfsubjectaccessreviews"):
            return self._reviewed(request)
        if path not in self.requests:
            raise NotFound(f"{path} not found", status=Status(code=404))
        found = self.requests[path]
        self.queries.append((path, dict(request.query or {})))
        return found.encode() if isinstance(found, str) else msgspec.json.encode(found)

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        raise AssertionError("a command that only looks created something")

    async def apply(self, resource: Resource[T], key: Key, body: Body, options: ApplyOptions) -> T:
        if not options.dry_run:
            raise AssertionError("a command that only reads applied something")
        if self.trial is not None:
            raise self.trial
        return await self.get(resource, key)

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        raise AssertionError("a command that only looks deleted something")

    async def evict(self, key: Key, options: DeleteOptions) -> None:
        raise AssertionError("a command that only looks evicted something")

    def _reviewed(self, request: RawRequest) -> bytes:
        if self.user and ("", "impersonate", "serviceaccounts") in self.lacks:
            raise Forbidden("serviceaccounts is forbidden")
        asked = msgspec.json.decode(msgspec.json.encode(request.body))["spec"]["resourceAttributes"]
        lacks = (self.user, asked["verb"], asked["resource"]) in self.lacks
        return msgspec.json.encode({"status": {"allowed": not lacks}})

    def _refuse(self, plural: str = "") -> None:
        if plural in self.denied:
            raise Forbidden(f"{plural} is forbidden")
        if self.refusal is not None:
            raise self.refusal
        if plural.endswith("clusters") and plural not in self.served:
            raise UnknownResource(f"the server could not find {plural}")

    @asynccontextmanager
    async def open(self, target: Target) -> AsyncGenerator[Session]:
        """Open a session, as the commands' context object does."""
        yield Session(self, target.namespace or "default", FixedClock(), lines=self.lines)

    async def lines(self, request: RawRequest) -> AsyncGenerator[bytes]:
        """Yield the lines of an answer, and end."""
        for line in (await self.request(request)).splitlines():
            yield line


def _decoded(resource: Resource[T], document: dict[str, Any]) -> T:
    return decode_object(resource.view, msgspec.json.encode(document))
