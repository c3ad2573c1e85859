"""An API server that misbehaves on demand: each request is answered by the next step of a script."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from stateward.kube.access.connection import Connection
from stateward.kube.access.credentials import Credential, StaticCredentials
from stateward.kube.client.http_client import HttpApi
from stateward.kube.client.transport import Limits
from stateward.kube.timing.virtual_time import VirtualClock

Step = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class FakeServer:
    """Answers requests with `steps`, one after the other, and keeps what it was asked.

    Requests for the version of the state (lists of one object) are answered with `versions`, one after the other, and
    then with one far in the future; what was asked so is kept apart.
    """

    steps: list[Step] = field(default_factory=list)
    versions: list[Step] = field(default_factory=list)
    compared: list[web.Request] = field(default_factory=list)
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("limit") == "1":
            self.compared.append(request)
            return await (self.versions.pop(0) if self.versions else page(version=10**9))(request)
        self.requests.append(request)
        self.bodies.append(await request.read())
        if not self.steps:
            return web.json_response(status(503, "ServiceUnavailable", "the script is over"), status=503)
        return await self.steps.pop(0)(request)


@asynccontextmanager
async def serving(
    *steps: Step,
    versions: Sequence[Step] = (),
    limits: Limits | None = None,
    told: Callable[[float], None] | None = None,
) -> AsyncGenerator[tuple[FakeServer, HttpApi]]:
    """Run the server with a script; yields it and a client of it."""
    fake = FakeServer(list(steps), list(versions))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", fake.handle)
    async with TestServer(app) as server:
        connection = Connection(str(server.make_url("/")), StaticCredentials(Credential(token="t")))
        async with HttpApi(connection, clock=VirtualClock(), limits=limits, told=told) as api:
            yield fake, api


def status(code: int, reason: str, message: str = "", **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message or reason, "details": details}


def pod(name: str, version: str | int, *, uid: str = "", **labels: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {**meta, "labels": labels}}


def event(kind: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def bookmark(version: str | int, *, initial_end: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if initial_end else {}
    return event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version), "annotations": annotations}})


def answer(body: Any, code: int = 200, **headers: str) -> Step:
    """Answer with a JSON body."""

    async def step(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=code, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return step


def page(*pods: dict[str, Any], version: str | int = 1, token: str = "") -> Step:
    return answer({"kind": "PodList", "metadata": {"resourceVersion": str(version), "continue": token}, "items": pods})


def stream(*chunks: bytes, hold: float = 0.0, reset: bool = False) -> Step:
    """Answer with a stream of exactly these chunks, then stay silent for `hold` seconds; `reset` breaks it off."""

    async def step(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await VirtualClock().sleep(0.01)
        await VirtualClock().sleep(hold)
        if reset and request.transport is not None:
            request.transport.abort()
        return response

    return step
