"""What the server says of its kinds is asked once, and again when a kind goes, changes or comes."""

import asyncio
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.installation import Installation, InstallationSpec
from stateward.api.values.base import Metadata
from stateward.kube.cache.listing import InitialState
from stateward.kube.objects.errors import BadRequest, UnknownResource
from stateward.kube.objects.resources import SECRETS
from stateward.operator.installations.objects import owned_objects as module
from stateward.operator.installations.objects.kinds import ServedKinds
from stateward.operator.installations.objects.owned_objects import owned_objects
from stateward.operator.installations.objects.views import ANNOTATION_KINDS


class Server:
    """Serves kinds of one group in some versions, and lists none of their objects."""

    def __init__(self, **versions: list[str]) -> None:
        self.versions = versions
        self.listed: list[str] = []

    async def request(self, request: Any) -> bytes:
        await asyncio.sleep(0)
        if request.path == "/apis":
            versions = [{"version": version} for version in self.versions]
            return msgspec.json.encode({"groups": [{"name": "example.dev", "versions": versions}]})
        parts = request.path.removeprefix("/apis/").split("/")
        kinds = self.versions.get(parts[1])
        if kinds is None:
            raise UnknownResource(f"no {request.path}")
        found = [{"name": f"{kind.lower()}s", "kind": kind, "namespaced": True} for kind in kinds]
        return msgspec.json.encode({"resources": found})

    async def list(self, resource: Any) -> InitialState[Any]:
        self.listed.append(resource.api_version)
        if resource.kind not in self.versions.get(resource.version, ()):
            raise UnknownResource(f"no {resource.kind}")
        return InitialState()


@pytest.fixture
def installation() -> Installation:
    meta = Metadata(name="web", namespace="prod", annotations={ANNOTATION_KINDS: "Thing.example.dev"})
    return Installation(metadata=meta, spec=InstallationSpec(package="shop"))


def listing(monkeypatch: pytest.MonkeyPatch, server: Server) -> Any:
    async def list_all(_api: Any, resource: Any, _selection: Any) -> InitialState[Any]:
        return await server.list(resource)

    monkeypatch.setattr(module, "list_all", list_all)
    return server


async def test_two_may_ask_at_once_for_a_kind_that_is_not_there() -> None:
    kinds = ServedKinds(Server(v1=["Other"]))  # pyright: ignore[reportArgumentType] - as much of a client as is asked
    found = await asyncio.gather(*(kinds.preferred("example.dev", "Thing") for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in found] == [UnknownResource] * 3


async def test_objects_of_a_kind_that_went_meanwhile_keep_no_installation(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = listing(monkeypatch, Server(v1=["Thing"]))
    kinds = ServedKinds(server)
    assert await owned_objects(server, kinds, installation) == []
    server.versions = {"v1": []}
    assert await owned_objects(server, kinds, installation) == []


async def test_objects_of_a_kind_that_is_served_in_another_version_now_are_found_there(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = listing(monkeypatch, Server(v1beta1=["Thing"]))
    kinds = ServedKinds(server)
    await owned_objects(server, kinds, installation)
    server.versions = {"v1": ["Thing"]}
    await owned_objects(server, kinds, installation)
    assert server.listed == ["example.dev/v1beta1", "example.dev/v1beta1", "example.dev/v1"]


async def test_a_kind_that_is_reported_as_there_and_not_served_is_not_known_to_be_gone(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = listing(monkeypatch, Server(v1=["Thing"]))
    kinds = ServedKinds(server)

    async def unserved(_resource: Any) -> InitialState[Any]:
        raise UnknownResource("not just now")

    monkeypatch.setattr(server, "list", unserved)
    with pytest.raises(UnknownResource):
        await owned_objects(server, kinds, installation)


@pytest.mark.parametrize(
    "wrong",
    [
        "v1/../v1/namespaces/other/secrets/admin",
        "../api/v1",
        "apps/v1/x",
        "v1?x=",
        "v1#",
        "a%2Fb/v1",
        "apps/..",
        "/v1",
        "",
        "v1/",
        "apps/v1\n",
    ],
)
async def test_a_version_that_would_lead_to_another_path_is_refused_before_anything_is_asked(wrong: str) -> None:
    class Asked:
        async def request(self, request: Any) -> bytes:
            raise AssertionError(request.path)

    kinds = ServedKinds(Asked())  # pyright: ignore[reportArgumentType] - as much of a client as is asked
    with pytest.raises(BadRequest, match="apiVersion"):
        await kinds.find(wrong, "Secret")
    if "/" in wrong and wrong != "/v1":
        with pytest.raises(UnknownResource):
            await kinds.preferred(wrong, "Secret")


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a%2fb"])
def test_a_name_that_would_lead_to_another_path_is_refused(name: str) -> None:
    with pytest.raises(BadRequest, match="path"):
        SECRETS.path("prod", name)
