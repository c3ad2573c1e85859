"""The API server's resource for a kind: asked once, and again for an unknown kind (`discovery`).

Packages name kinds that are unknown here; only the server knows their path, and whether they are namespaced.
"""

import re
from typing import Any, Protocol

import msgspec

from stateward.kube.client.client import Api, Propagation
from stateward.kube.objects.errors import BadRequest, UnknownResource
from stateward.kube.objects.resource import Resource
from stateward.kube.timing.clock import Clock, SystemClock
from stateward.operator.installations.objects.discovery import Discovery
from stateward.packages.restarts.dependencies import TEMPLATES

Raw = Resource[dict[str, Any]]
GROUPS = "/apis"
"""The path of the list of all groups."""
_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_GROUP = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_API_VERSION = re.compile(rf"({_LABEL}(\.{_LABEL})*/)?{_LABEL}")
"""The accepted parts of a request's path: anything else could lead it to another object and reveal its answer."""


def propagation(kind: Raw) -> Propagation:
    """Return how objects of a kind are deleted: those with pods are gone only when their pods are.

    The disaster this prevents: a step removes a database, and the next one restores its files while it still stops.
    """
    return Propagation.FOREGROUND if (kind.group, kind.kind) in TEMPLATES else Propagation.BACKGROUND


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
    name: str = ""
    preferred_version: _Version = _Version()
    versions: list[_Version] = []


class _Groups(msgspec.Struct):
    groups: list[_Group] = []


class ServedKinds:
    """The kinds that an API server lists."""

    def __init__(self, api: Api, clock: Clock | None = None) -> None:
        self._discovery = Discovery(api, clock or SystemClock())
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
        self._discovery.forget(GROUPS)
        for version in [version for version in self._known if version.rpartition("/")[0] == group]:
            del self._known[version]
            self._discovery.forget(_path(version))

    async def _versions_of(self, group: str) -> tuple[str, ...]:
        if not group:
            return ("v1",)
        # All groups in one answer: so a group that is not served costs no request of its own.
        for found in (await self._discovery.ask(GROUPS, _Groups)).groups:
            if found.name == group:
                names = [found.preferred_version.version, *(version.version for version in found.versions)]
                return tuple(dict.fromkeys(name for name in names if name))
        raise UnknownResource(f"the API server has no group {group!r}")

    async def _asked(self, api_version: str) -> dict[str, Raw]:
        if not _API_VERSION.fullmatch(api_version):
            raise BadRequest(f"apiVersion: {api_version!r} is neither VERSION nor GROUP/VERSION, such as v1 or apps/v1")
        group, _, version = api_version.rpartition("/")
        found = await self._discovery.ask(_path(api_version), _List)
        return {
            served.kind: Resource(group, version, served.name, served.kind, dict[str, Any], served.namespaced)
            for served in found.resources
            if "/" not in served.name
        }


def _path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
