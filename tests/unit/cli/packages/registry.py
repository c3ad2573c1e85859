"""A registry of OCI artifacts on this machine: as much of the distribution API as packages need, and ways to misbehave.

It runs in a thread of its own, because the commands that it serves have an event loop of theirs.
"""

import asyncio
import base64
import hashlib
import re
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

USER, PASSWORD = "robin", "hood"
WRITES = frozenset({"POST", "PUT"})


@dataclass
class TestRegistry:
    """What is stored, who may come in, and what was asked.

    `auth` is empty, `basic` or `bearer`; `tampered` are digests whose content is changed on the way; `redirect` is
    where blobs are fetched from instead, and `tokens` where tokens are.
    """

    __test__ = False  # pytest takes it for a class of tests

    auth: str = ""
    redirect: str = ""
    tokens: str = ""
    tampered: set[str] = field(default_factory=set[str])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    manifests: dict[str, tuple[str, bytes]] = field(default_factory=dict[str, tuple[str, bytes]])
    asked: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    port: int = 0
    scheme: str = "http"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def reference(self, repository: str = "team/shop", tag: str = "") -> str:
        """Return a user's name of a repository here."""
        plain = "oci+http" if self.scheme == "http" else "oci"
        return f"{plain}://{self.host}/{repository}" + (f":{tag}" if tag else "")

    def app(self) -> web.Application:
        app = web.Application(client_max_size=16 << 20)
        app.router.add_get("/token", self._token)
        app.router.add_route("*", "/v2/{path:.*}", self._answer)
        app.router.add_get("/elsewhere/{digest}", self._elsewhere)
        return app

    async def _token(self, request: web.Request) -> web.Response:
        self.asked.append(("TOKEN", request.query.get("scope", ""), request.headers.get("Authorization", "")))
        if request.headers.get("Authorization") != _basic():
            return _error(401, "UNAUTHORIZED", "who are you?")
        # Registries give for each scope a token that is good for no other.
        return web.json_response({"token": _token(push=request.query.get("scope", "").endswith("push"))})

    async def _elsewhere(self, request: web.Request) -> web.Response:
        self.asked.append(("ELSEWHERE", request.path, request.headers.get("Authorization", "")))
        return web.Response(body=self.blobs[request.match_info["digest"]])

    async def _answer(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        self.asked.append((request.method, path, request.headers.get("Authorization", "")))
        wanted = {"": "", "basic": _basic(), "bearer": f"Bearer {_token(push=request.method in WRITES)}"}[self.auth]
        # Who may push may pull as well.
        may = {wanted, f"Bearer {_token(push=True)}"} if self.auth == "bearer" else {wanted}
        if wanted and request.headers.get("Authorization") not in may:
            says = f'Bearer realm="{self.tokens or f"{self.scheme}://{self.host}"}/token",service="here"'
            says = 'Basic realm="here"' if self.auth == "basic" else says
            return _error(401, "UNAUTHORIZED", "who are you?", {"WWW-Authenticate": says})
        found = re.fullmatch(r"(.+)/(manifests|blobs|blobs/uploads)/(.*)", path)
        if found is None:
            return _error(404, "NOT_FOUND", "nothing is there")
        if "blobs/uploads/" in path:
            return await self._upload(request, path)
        handle = self._manifest if found[2] == "manifests" else self._blob
        return await handle(request, found[1], found[3])

    async def _upload(self, request: web.Request, path: str) -> web.Response:
        if request.method == "POST":
            return web.Response(status=202, headers={"Location": f"/v2/{path}1?state=x"})
        content, digest = await request.read(), request.query["digest"]
        if _digest(content) != digest:
            return _error(400, "DIGEST_INVALID", "that is something else")
        self.blobs[digest] = content
        return web.Response(status=201)

    async def _manifest(self, request: web.Request, repository: str, name: str) -> web.Response:
        if request.method == "PUT":
            content = await request.read()
            for key in (name, _digest(content)):
                self.manifests[f"{repository}/{key}"] = (request.content_type, content)
            return web.Response(status=201)
        if f"{repository}/{name}" not in self.manifests:
            return _error(404, "MANIFEST_UNKNOWN", "no such manifest")
        kind, content = self.manifests[f"{repository}/{name}"]
        return web.Response(body=content + b" " * (name in self.tampered), headers={"Content-Type": kind})

    async def _blob(self, request: web.Request, _repository: str, digest: str) -> web.Response:
        if digest not in self.blobs:
            return _error(404, "BLOB_UNKNOWN", "no such blob")
        if self.redirect:
            return web.Response(status=307, headers={"Location": f"{self.redirect}/elsewhere/{digest}"})
        content = self.blobs[digest]
        if request.method == "GET" and digest in self.tampered:
            content = bytes([content[0] ^ 1]) + content[1:]
        return web.Response(body=content)


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _token(*, push: bool) -> str:
    return f"a-token-to-{'push' if push else 'pull'}"


def _basic() -> str:
    return "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"errors": [{"code": code, "message": message}]}, status=status, headers=headers)


@contextmanager
def registry(auth: str = "", tls: ssl.SSLContext | None = None) -> Generator[TestRegistry]:
    """Serve a registry on 127.0.0.1 while the block runs."""
    made = TestRegistry(auth, scheme="https" if tls else "http")
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    async def serve() -> web.AppRunner:
        runner = web.AppRunner(made.app(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        made.port = runner.addresses[0][1]
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(60)
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
