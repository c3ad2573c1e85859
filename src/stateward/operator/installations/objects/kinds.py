"""The API server's resource for a kind: asked once, and again for an unknown kind.

Packages name kinds that are unknown here; only the server knows their path, and whether they are namespaced.
"""

import re
from typing import Any, Protocol

import msgspec

from stateward.kube.client.client import Api, RawRequest
from stateward.kube.objects.errors import BadRequest, DecodeError, UnknownResource
from stateward.kube.objects.metadata import T
from stateward.kube.objects.resource import Resource

Raw = Resource[dict[str, Any]]
_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_GROUP = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_API_VERSION = re.compile(rf"({_LABEL}(\.{_LABEL})*/)?{_LABEL}")
"""The accepted parts of a request's path: anything else could lead it to another object and reveal its answer."""


class Kinds(Protocol):
    """Finds the resource of a kind; raises UnknownResource for one that is not served, ApiError."""

    async def find(self, api_version: str, kind: str) -> Raw:
        """Return the resource of a kind in a version."""
        ...

    async def preferred(self, group: str, kind: str) -> Raw:
        """Return the resource of a kind, in the version that the server prefers."""
        ...

    def forget(self, group: str) -> None:
        """Forget the kinds of a group: the server has just answered that it does not serve one of them."""
        ...


class _Served(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class _List(msgspec.Struct):
    resources: list[_Served] = []


class _Version(msgspec.Struct, frozen=True):
    version: str = ""


class _Group(msgspec.Struct, rename="camel"):
    preferred_version: _Version = _Version()
    versions: list[_Version] = []


class ServedKinds:
    """The kinds that an API server lists."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._known: dict[str, dict[str, Raw]] = {}
        self._versions: dict[str, tuple[str, ...]] = {}

    async def find(self, api_version: str, kind: str) -> Raw:
        """Return the resource of a kind in a version."""
        known = self._known.get(api_version, {}).get(kind)
        if known is not None:
            return known
        served = self._known[api_version] = await self._asked(api_version)
        try:
            return served[kind]
        except KeyError:
            raise UnknownResource(f"the API server has no {kind} in {api_version}") from None

    async def preferred(self, group: str, kind: str) -> Raw:
        """Return the resource of a kind, in the first version that has it."""
        if group and not _GROUP.fullmatch(group):
            raise UnknownResource(f"the API server has no group {group!r}: it is not a DNS name")
        if group not in self._versions:
            self._versions[group] = await self._versions_of(group)
        for version in self._versions[group]:
            try:
                return await self.find(f"{group}/{version}" if group else version, kind)
            except UnknownResource:
                continue
        self._versions.pop(group, None)  # Somebody else who asked meanwhile may have done so.
        raise UnknownResource(f"the API server has no {kind} in group {group or 'core'!r}")

    def forget(self, group: str) -> None:
        """Forget the kinds of a group: CRDs are created, deleted and changed."""
        self._versions.pop(group, None)
        for version in [version for version in self._known if version.rpartition("/")[0] == group]:
            del self._known[version]

    async def _versions_of(self, group: str) -> tuple[str, ...]:
        if not group:
            return ("v1",)
        found = _decoded(await self._api.request(RawRequest(f"/apis/{group}")), _Group)
        names = [found.preferred_version.version, *(version.version for version in found.versions)]
        return tuple(dict.fromkeys(name for name in names if name))

    async def _asked(self, api_version: str) -> dict[str, Raw]:
        if not _API_VERSION.fullmatch(api_version):
            raise BadRequest(f"apiVersion: {api_version!r} is neither VERSION nor GROUP/VERSION, such as v1 or apps/v1")
        group, _, version = api_version.rpartition("/")
        path = f"/apis/{api_version}" if group else f"/api/{api_version}"
        found = _decoded(await self._api.request(RawRequest(path)), _List)
        return {
            served.kind: Resource(group, version, served.name, served.kind, dict[str, Any], served.namespaced)
            for served in found.resources
            if "/" not in served.name
        }


def _decoded(body: bytes, view: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=view)
    except msgspec.DecodeError as error:
        raise DecodeError(f"cannot read the API server's list of kinds: {error}") from error
