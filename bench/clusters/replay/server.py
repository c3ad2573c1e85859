"""The recorded objects, served as an API server does: streams of the whole state, then of every change."""

import asyncio
import contextlib
from typing import Any

import msgspec
from aiohttp import web

from bench.clusters.recording import Object, Recording

BOOKMARK_SECONDS = 50.0
_END = {"k8s.io/initial-events-end": "true"}


class Replay:
    """Serves a recording; objects are found by their path."""

    def __init__(self, recorded: Recording) -> None:
        self._version = recorded.version
        self._objects: dict[str, Object] = {}
        self._collections: dict[str, list[str]] = {}
        self._listeners: dict[str, set[asyncio.Queue[bytes]]] = {}
        for collection, items in recorded.objects.items():
            self._collections[collection] = [self._put(collection, item) for item in items]

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if request.method == "GET" and request.query.get("watch") == "true":
            return await self._watch(request)
        if request.method == "POST":
            return _json(self._create(request.path, await _body(request)), 201)
        found = self._objects.get(request.path.removesuffix("/status"))
        if found is None:
            status = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
            # With the name in it, it is the object that is missing, and not its kind.
            return _json({**status, "details": {"name": request.path.rpartition("/")[2]}}, 404)
        if request.method == "PATCH":
            self._change(request.path, found, await _body(request))
        return _json(_shown(found, request))

    def _put(self, collection: str, item: Object) -> str:
        root, _, plural = collection.rpartition("/")
        meta = item["metadata"]
        within = f"/namespaces/{meta['namespace']}" if meta.get("namespace") else ""
        path = f"{root}{within}/{plural}/{meta['name']}"
        self._objects[path] = item
        return path

    def _create(self, path: str, item: Object) -> Object:
        """Take in a lease; events are answered and forgotten."""
        meta = item["metadata"]
        meta.setdefault("name", "fresh")
        meta |= {"uid": f"uid-of-{meta['name']}", "resourceVersion": str(self._version)}
        if path.endswith("/leases"):
            self._objects[f"{path}/{meta['name']}"] = item
        return item

    def _change(self, path: str, found: Object, patch: Any) -> None:
        """Take in a status, a lease, or an edited cluster; all else that settled clusters apply is so already."""
        if path.endswith("/status"):
            found["status"] = next(step["value"] for step in patch if step["path"] == "/status")
        elif "/leases/" in path:
            found["spec"] |= patch["spec"]
        elif "/osclusters/" in path and found["spec"] != patch["spec"]:
            found["spec"] = patch["spec"]
            found["metadata"]["generation"] += 1
        else:
            return
        self._version += 1
        found["metadata"]["resourceVersion"] = str(self._version)
        for listener in self._listeners.get(f"{found['apiVersion']} {found['kind']}", ()):
            listener.put_nowait(_event("MODIFIED", found))

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        objects = [self._objects[path] for path in self._collections[request.path]]
        kind = f"{objects[0]['apiVersion']} {objects[0]['kind']}" if objects else request.path
        changes: asyncio.Queue[bytes] = asyncio.Queue()
        self._listeners.setdefault(kind, set()).add(changes)
        try:
            if request.query.get("sendInitialEvents") == "true":
                for each in objects:
                    await response.write(_event("ADDED", _shown(each, request)))
                await response.write(self._bookmark(_END))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(float(request.query.get("timeoutSeconds", "300"))):
                    await self._follow(response, changes)
        finally:
            self._listeners[kind].discard(changes)
        return response

    async def _follow(self, response: web.StreamResponse, changes: asyncio.Queue[bytes]) -> None:
        while True:
            try:
                line = await asyncio.wait_for(changes.get(), BOOKMARK_SECONDS)
            except TimeoutError:
                line = self._bookmark({})
            await response.write(line)

    def _bookmark(self, annotations: dict[str, str]) -> bytes:
        meta = {"resourceVersion": str(self._version), "annotations": annotations}
        return _event("BOOKMARK", {"metadata": meta})


def _shown(item: Object, request: web.BaseRequest) -> Object:
    """Return an object as it was asked for: whole, or its metadata."""
    if "PartialObjectMetadata" not in request.headers.get("Accept", ""):
        return item
    return {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": item["metadata"]}


def _event(kind: str, item: Object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": item}) + b"\n"


async def _body(request: web.BaseRequest) -> Any:
    return msgspec.json.decode(await request.read())


def _json(body: Object, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), status=status, content_type="application/json")
