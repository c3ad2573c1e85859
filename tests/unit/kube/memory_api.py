"""The least of an API server in memory: objects, versions, merge patches, and failures on demand.

Only for this package's own unit tests; what a simulation needs is far more.
"""

# The signatures are those of the interface, whether the little that is here needs all of them or not.

import itertools
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

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
from stateward.kube.objects.errors import AlreadyExists, ApiError, Conflict, NotFound
from stateward.kube.objects.metadata import Key, T
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.watching import WatchEvent
from stateward.kube.timing.virtual_time import VirtualClock

Fault = Callable[[str, Key], ApiError | None]


class MemoryApi:
    """Objects by kind and key; each call takes `latency` virtual seconds and may fail before or after its work."""

    def __init__(self, latency: float = 0.01) -> None:
        self.objects: dict[tuple[str, Key], dict[str, Any]] = {}
        self.calls: list[tuple[str, str, Key]] = []
        self.latency = latency
        self.before: Fault = lambda _verb, _key: None
        self.after: Fault = lambda _verb, _key: None
        self._versions = itertools.count(1)

    def verbs(self, plural: str) -> list[str]:
        return [verb for verb, name, _ in self.calls if name == plural]

    async def get(self, resource: Resource[T], key: Key) -> T:
        await self._begin("get", resource, key)
        return self._view(resource, self._object(resource, key))

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        """Return the first page of a kind in a namespace; there are no selectors and no second page."""
        if selection.labels or selection.fields or not selection.namespace:
            raise NotImplementedError
        await self._begin("list", resource, Key(selection.namespace, ""))
        places = [k for plural, k in self.objects if plural == resource.plural and k.namespace == selection.namespace]
        limit = (options or WHOLE).limit or len(places)
        found = [self._view(resource, self._object(resource, key)) for key in places]
        return Page(tuple(found[:limit]), "1", "more" if len(found) > limit else "")

    def watch(self, resource: Resource[T], selection: Selection, start: WatchStart) -> AsyncGenerator[WatchEvent[T]]:
        raise NotImplementedError

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        made = _plain(body)
        key = Key(namespace, made["metadata"]["name"])
        await self._begin("create", resource, key)
        if (resource.plural, key) in self.objects:
            raise AlreadyExists(f"{key} is there")
        made["metadata"] |= {"uid": f"uid-{next(self._versions)}", "namespace": namespace}
        return await self._store("create", resource, key, made)

    async def apply(self, resource: Resource[T], key: Key, body: Body, options: ApplyOptions) -> T:
        await self._begin("apply", resource, key)
        there = self.objects.get((resource.plural, key))
        exact = _plain(body)["metadata"].get("uid")
        if exact and (there is None or there["metadata"]["uid"] != exact):
            raise Conflict(f"{key} is another object")
        old = there or {"metadata": {"uid": f"uid-{next(self._versions)}"}}
        new = _merged(old, _plain(body))
        if new == old:
            return self._view(resource, old)
        return await self._store("apply", resource, key, new)

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        await self._begin("patch", resource, key)
        old, change = self._object(resource, key), _plain(body)
        wanted = change.get("metadata", {}).get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            raise Conflict(f"{key} has changed")
        return await self._store("patch", resource, key, _merged(old, change))

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        raise NotImplementedError

    async def evict(self, key: Key, options: DeleteOptions) -> None:
        raise NotImplementedError

    def acting_as(self, user: str) -> Any:
        raise NotImplementedError(user)

    async def request(self, request: RawRequest) -> bytes:
        raise NotImplementedError

    async def _begin(self, verb: str, resource: Resource[Any], key: Key) -> None:
        self.calls.append((verb, resource.plural, key))
        await VirtualClock().sleep(self.latency)
        if error := self.before(verb, key):
            raise error

    async def _store(self, verb: str, resource: Resource[T], key: Key, obj: dict[str, Any]) -> T:
        obj["metadata"] |= {"resourceVersion": str(next(self._versions))}
        self.objects[resource.plural, key] = obj
        if error := self.after(verb, key):
            raise error
        return self._view(resource, obj)

    def _object(self, resource: Resource[Any], key: Key) -> dict[str, Any]:
        try:
            return self.objects[resource.plural, key]
        except KeyError:
            raise NotFound(f"{key} is not there") from None

    def _view(self, resource: Resource[T], obj: Mapping[str, Any]) -> T:
        return msgspec.json.decode(msgspec.json.encode(obj), type=resource.view)


def _plain(body: Any) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(body))


def _merged(old: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    new = dict(old)
    for name, value in change.items():
        if value is None:
            new.pop(name, None)
        elif isinstance(value, dict) and isinstance(new.get(name), dict):
            new[name] = _merged(new[name], value)
        else:
            new[name] = value
    return new
