"""A registry may answer anything: the user reads what is wrong with it in one line, and no password goes astray."""

import base64
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from stateward.packages.distribution.oci import CONTENT, Artifact, BadArtifact, digest_of
from stateward.registry.challenges import challenge_in
from stateward.registry.client import RegistryError, open_registry
from stateward.registry.logins import BadLogins, Login, login_for
from stateward.registry.references import Reference

MADE = Artifact(b"{}", {digest_of(b"x"): b"x"})
DEEP = b"[" * 4000


@asynccontextmanager
async def registry(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> AsyncGenerator[str]:
    """Serve one answer to every request; yields the host."""

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/token":
            return web.Response(body=body)
        if request.method == "HEAD" or (request.method == "GET" and status == 202):
            return web.Response(status=404)
        return web.Response(status=status, body=body, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        yield f"127.0.0.1:{server.port}"


async def fetched(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    async with registry(status, body, headers) as host:
        where = Reference(host, "shop", "1", plain=True)
        async with open_registry(where, Login("robin", "hood")) as found:
            return await found.fetch()


ODD = ["http://[::1", "http://host:99999/", "//host:x/", "file:///etc/passwd", "mailto:me"]


@pytest.mark.parametrize("location", ODD)
async def test_a_redirect_to_no_address_is_reported(location: str) -> None:
    with pytest.raises(RegistryError, match="which is no address"):
        await fetched(302, headers={"Location": location})


@pytest.mark.parametrize("realm", ["http://[::1", "http://host:99999/", "file:///etc/passwd", "token"])
async def test_a_token_server_at_no_address_is_reported(realm: str) -> None:
    with pytest.raises(RegistryError, match="which is no address"):
        await fetched(401, headers={"WWW-Authenticate": f'Bearer realm="{realm}",service="here"'})


@pytest.mark.parametrize("location", ODD)
async def test_a_place_for_content_at_no_address_is_reported(location: str) -> None:
    async with registry(202, headers={"Location": location}) as host:
        where = Reference(host, "shop", plain=True)
        async with open_registry(where, None) as found:
            with pytest.raises(RegistryError, match="which is no address"):
                await found.push(MADE, "1", replace=False)


async def test_a_reference_with_an_impossible_port_is_reported() -> None:
    async with open_registry(Reference("host:99999", "shop", "1"), None) as found:
        with pytest.raises(RegistryError, match="is no address: Port out of range"):
            await found.fetch()


@pytest.mark.parametrize("body", [DEEP, b'{"errors": [{"message": "\xff"}]}', b'{"errors": ["x"]}', b'{"errors": 1}'])
async def test_an_error_that_cannot_be_read_is_its_number(body: bytes) -> None:
    with pytest.raises(RegistryError, match=r"does not give it: 500$"):
        await fetched(500, body)


@pytest.mark.parametrize("body", [DEEP, b'{"mediaType": "\xff"}', b'{"x": ' + DEEP])
async def test_a_manifest_that_cannot_be_read_is_no_package(body: bytes) -> None:
    with pytest.raises(BadArtifact, match="the manifest cannot be read"):
        await fetched(200, body)


@pytest.mark.parametrize("token", [DEEP, b'{"token": "\xff"}'])
async def test_a_token_that_cannot_be_read_is_reported(token: bytes) -> None:
    async with registry(401, token) as tokens:
        realm = {"WWW-Authenticate": f'Bearer realm="http://{tokens}/token"'}
        with pytest.raises(RegistryError, match="gives a token that cannot be read"):
            await fetched(401, headers=realm)


def test_of_two_challenges_in_one_header_the_first_counts() -> None:
    found = challenge_in('Bearer realm="https://auth.test/token",service="here", Basic realm="Registry"')
    assert found.token_address("s") == "https://auth.test/token?service=here&scope=s"


async def test_a_layer_that_is_larger_than_it_says_is_not_read_to_its_end() -> None:
    layer = {"mediaType": CONTENT, "digest": digest_of(b"x"), "size": 1}
    kind = "application/vnd.stateward.package.v1"
    body = json.dumps({"artifactType": kind, "layers": [layer]}).encode()
    with pytest.raises(RegistryError, match="more than the 1 bytes"):
        await fetched(200, body)


@pytest.mark.parametrize("auth", ["é", "a", base64.b64encode(b"\xff:x").decode()])
def test_logins_that_cannot_be_read_are_named(tmp_path: Path, auth: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"host": {"auth": auth}}}, ensure_ascii=False), "utf-8")
    with pytest.raises(BadLogins, match=r"config\.json: cannot be read"):
        login_for("host", {"DOCKER_CONFIG": str(tmp_path)})


async def test_a_host_that_a_registry_redirects_to_gets_no_password_by_asking_for_one() -> None:
    """Registries keep blobs at storage of others, which names any server as the one that gives tokens."""
    seen = list[str]()

    async def stranger(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        challenge = f'Bearer realm="{request.url.origin()}/token"'
        return web.Response(status=401, headers={"WWW-Authenticate": challenge})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", stranger)
    async with TestServer(app) as storage:
        with pytest.raises(RegistryError, match="does not give it"):
            await fetched(302, headers={"Location": f"http://127.0.0.1:{storage.port}/blob"})
    assert seen == [""]
