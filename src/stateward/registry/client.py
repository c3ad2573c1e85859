"""A client of the distribution API of OCI registries: fetches packages, and pushes them.

TLS is used unless the reference says otherwise, and is never dropped on the way: a redirect or a token's address
without TLS is refused. A password goes to the registry and to its token server, never to a redirect, and without TLS
only to this machine itself.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from stateward.kube.client.proxy import environment_proxy
from stateward.kube.objects.errors import ConfigError
from stateward.packages.distribution.oci import (
    INDEX,
    LARGEST_MANIFEST,
    MANIFEST,
    UNREADABLE,
    Artifact,
    Descriptor,
    checked_blob,
    digest_of,
    read_manifest,
)
from stateward.registry.challenges import Challenge, challenge_in
from stateward.registry.logins import Login
from stateward.registry.references import Reference

MOST_REDIRECTS = 5
SECONDS = 60.0
"""How long one request may take."""
_OK = 200
_UNAUTHORIZED = 401
_FOUND = 404


class RegistryError(Exception):
    """A registry refuses the request; the message names the registry and the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a registry to one request."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    origin: URL
    """The host that has answered."""


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""


class Registry:
    """One repository of a registry."""

    def __init__(self, http: aiohttp.ClientSession, where: Reference, login: Login | None) -> None:
        self._http = http
        self._where = where
        self._login = login
        self._authorization = ""

    async def fetch(self) -> bytes:
        """Return the tarball of the package that the reference names; raises RegistryError, BadArtifact."""
        headers = {"Accept": f"{MANIFEST}, {INDEX}"}
        answer = await self._get(f"/manifests/{self._where.named}", LARGEST_MANIFEST, headers)
        layer = read_manifest(answer, self._where.digest).layers[0]
        return await self._blob(layer)

    async def push(self, made: Artifact, tag: str, *, replace: bool) -> None:
        """Store a package under a tag; raises RegistryError, also for a tag that has other content already."""
        await self._check_tag(made, tag, replace=replace)
        for digest, content in made.blobs.items():
            await self._upload(digest, content)
        headers = {"Content-Type": MANIFEST}
        answer = await self._ask("PUT", f"/manifests/{tag}", LARGEST_MANIFEST, headers, made.manifest)
        self._expect(answer, {201}, f"does not take the manifest of {tag}")

    async def _check_tag(self, made: Artifact, tag: str, *, replace: bool) -> None:
        answer = await self._ask("GET", f"/manifests/{tag}", LARGEST_MANIFEST, {"Accept": f"{MANIFEST}, {INDEX}"})
        if answer.status == _FOUND:
            return
        self._expect(answer, {_OK}, f"does not say what {tag} is")
        if digest_of(answer.body) != made.digest and not replace:
            raise RegistryError(
                f"{self._where.host}/{self._where.repository}:{tag} is there already, with other content"
                f" ({digest_of(answer.body)}): a changed package has another version; --replace does it all the same"
            )

    async def _blob(self, layer: Descriptor) -> bytes:
        return checked_blob(layer, await self._get(f"/blobs/{layer.digest}", layer.size, {}))

    async def _upload(self, digest: str, content: bytes) -> None:
        there = await self._ask("HEAD", f"/blobs/{digest}", 0, {})
        if there.status == _OK:
            return
        begun = await self._ask("POST", "/blobs/uploads/", LARGEST_MANIFEST, {})
        self._expect(begun, {202}, "does not take blobs")
        base = self._address(f"{self._where.base}/blobs/uploads/")
        place = self._address(begun.headers.get("Location", ""), base)
        if place.origin() != base.origin():
            raise RegistryError(f"{self._where.host} wants the content sent to {place.host}, which is somebody else")
        headers = {"Content-Type": "application/octet-stream"}
        url = str(place.update_query(digest=digest))
        self._expect(await self._ask("PUT", url, LARGEST_MANIFEST, headers, content), {201}, f"does not take {digest}")

    async def _get(self, path: str, largest: int, headers: Mapping[str, str]) -> bytes:
        answer = await self._ask("GET", path, largest, headers)
        if answer.status == _FOUND:
            raise RegistryError(f"{self._where}: there is nothing of that name")
        self._expect(answer, {_OK}, "does not give it")
        return answer.body

    def _expect(self, answer: Answer, statuses: set[int], what: str) -> None:
        if answer.status in statuses:
            return
        if answer.status in {_UNAUTHORIZED, 403}:
            who = f"as {self._login.name}" if self._login else "without a login (`docker login` makes one)"
            raise RegistryError(f"{self._where.host} {what} {who}: {answer.status}{_said(answer)}")
        raise RegistryError(f"{self._where.host} {what}: {answer.status}{_said(answer)}")

    async def _ask(
        self, method: str, path: str, largest: int, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """Send a request, and once more with the answer to the registry's challenge.

        A host that the registry redirects to may not ask: it would name a server of its own for the password.
        """
        url = path if path.startswith("http") else f"{self._where.base}{path}"
        answer = await self._followed(method, url, largest, headers, body)
        if answer.status != _UNAUTHORIZED or answer.origin != self._home:
            return answer
        self._authorization = await self._authorized(challenge_in(answer.headers.get("WWW-Authenticate", "")), method)
        return await self._followed(method, url, largest, headers, body) if self._authorization else answer

    async def _authorized(self, challenge: Challenge, method: str) -> str:
        login = self._login
        if login is not None:
            self._check_told(self._address(self._where.base))
        if challenge.scheme == "basic":
            return login.header if login else ""
        actions = "pull" if method in {"GET", "HEAD"} else "pull,push"
        address = challenge.token_address(f"repository:{self._where.repository}:{actions}")
        if challenge.scheme != "bearer" or not address:
            return ""
        server = self._address(address)
        self._check_secure(server)
        if login is not None:
            self._check_told(server)
        headers = {"Authorization": login.header} if login else {}
        answer = await self._once("GET", server, LARGEST_MANIFEST, headers, None)
        self._expect(answer, {_OK}, "gives no token")
        try:
            found = msgspec.json.decode(answer.body, type=_Token)
        except UNREADABLE as error:
            raise RegistryError(f"{self._where.host} gives a token that cannot be read: {error}") from error
        token = found.token or found.access_token
        return f"Bearer {token}" if token else ""

    def _check_told(self, url: URL) -> None:
        """Raise RegistryError unless a password may be sent there: over TLS, or to this very machine."""
        if url.scheme != "https" and not _local(url.host or ""):
            raise RegistryError(f"{url.host} asks for a password, and none is sent without TLS: use oci://")

    def _check_secure(self, url: URL) -> None:
        if url.scheme != "https" and not self._where.plain:
            raise RegistryError(f"{self._where.host} leads to {url.host} without TLS")

    async def _followed(
        self, method: str, address: str, largest: int, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        url, home = self._address(address, encoded=True), self._home
        for _ in range(MOST_REDIRECTS):
            mine = {"Authorization": self._authorization} if self._authorization and url.origin() == home else {}
            answer = await self._once(method, url, largest, {**headers, **mine}, body)
            if answer.status not in {301, 302, 303, 307, 308} or method not in {"GET", "HEAD"}:
                return answer
            url = self._address(answer.headers.get("Location", ""), url)
            self._check_secure(url)
        raise RegistryError(f"{self._where.host} redirects more than {MOST_REDIRECTS} times")

    @property
    def _home(self) -> URL:
        return self._address(self._where.base).origin()

    def _address(self, text: str, base: URL | None = None, *, encoded: bool = False) -> URL:
        """Return an address that the user or the registry names, relative to another one; raise RegistryError."""
        try:
            found = URL(text, encoded=encoded)
            found = found if base is None else base.join(found)
            good = found.scheme in {"http", "https"} and bool(found.origin().host)
        except ValueError as error:
            raise RegistryError(f"{self._where.host} leads to {text[:200]!r}, which is no address: {error}") from error
        if not good:
            raise RegistryError(f"{self._where.host} leads to {text[:200]!r}, which is no address of HTTP")
        return found

    async def _once(
        self, method: str, url: URL, largest: int, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        try:
            proxy = environment_proxy(str(url))
            asking = self._http.request(method, url, headers=headers, data=body, allow_redirects=False, proxy=proxy)
            async with asking as response:
                content = await _bounded(response, largest, url)
                return Answer(response.status, response.headers, content, url.origin())
        except ConfigError as error:
            raise RegistryError(str(error)) from error
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise RegistryError(f"{url.host} cannot be reached: {error or type(error).__name__}") from error


async def _bounded(response: aiohttp.ClientResponse, largest: int, url: URL) -> bytes:
    """Read at most that many bytes; of an error only the beginning."""
    content = bytearray()
    limit = largest if response.ok else 4096
    async for chunk in response.content.iter_chunked(1 << 16):
        content += chunk
        if len(content) > limit:
            if not response.ok:
                break
            raise RegistryError(f"{url.host} sends more than the {largest} bytes that should exist")
    return bytes(content[:limit])


def _said(answer: Answer) -> str:
    """Return a registry's error message, in its own form or as plain text."""
    try:
        errors: Any = msgspec.json.decode(answer.body)["errors"]
        text = "; ".join(str(error.get("message") or error.get("code")) for error in errors)
    except (*UNREADABLE, KeyError, TypeError, AttributeError):
        text = ""
    return f" ({text})" if text else ""


def _local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@asynccontextmanager
async def open_registry(where: Reference, login: Login | None) -> AsyncGenerator[Registry]:
    """Speak with the registry of a reference while the block runs."""
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as http:
        yield Registry(http, where, login)
