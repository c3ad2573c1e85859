"""The target of a request: the kind, its projection, and the part of it.

A `Resource` contains the place of a kind in the API and the type its objects are decoded into, so one descriptor is
enough for a call. `viewed_as` reads the same kind through another type, `metadata_only` requests only metadata.
"""

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from stateward.kube.objects.errors import BadRequest
from stateward.kube.objects.metadata import Key, PartialObject, T

U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A kind of object and the type its objects are decoded into.

    `group` is empty for the core API. `partial` requests only metadata.
    """

    group: str
    version: str
    plural: str
    kind: str
    view: type[T]
    namespaced: bool = True
    partial: bool = False

    @property
    def api_version(self) -> str:
        """The value of `apiVersion` in objects of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def viewed_as(self, view: type[U]) -> "Resource[U]":
        """Return the same kind, decoded into another type."""
        # dataclasses.replace cannot express that the type parameter changes with the field.
        return Resource(self.group, self.version, self.plural, self.kind, view, self.namespaced, self.partial)

    def raw(self) -> "Resource[dict[str, Any]]":
        """Return the same kind as whole, untyped objects, as a read before a full write needs."""
        return replace(self.viewed_as(dict[str, Any]), partial=False)

    def metadata_only(self) -> "Resource[PartialObject]":
        """Return the same kind as metadata: payloads, such as a Secret's, never reach this process."""
        return replace(self.viewed_as(PartialObject), partial=True)

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection or object; no namespace means all of them.

        Raise ValueError for a namespaced object without a namespace, which would silently address nothing; BadRequest
        for an invalid name that would redirect the request.
        """
        if name and self.namespaced and not namespace:
            raise ValueError(f"{self.kind} {name!r} lives in a namespace, and none was given")
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name) if part]
        for part in parts:
            if part in {".", ".."} or "/" in part or "%" in part:
                raise BadRequest(f"{self.kind} in namespace {namespace!r}: {part!r} cannot be a part of a path")
        # A subresource may contain slashes (`proxy/metrics`), so they stay.
        return "/" + "/".join(quote(part, safe="") for part in parts) + (f"/{subresource}" if subresource else "")

    def path_of(self, key: Key, subresource: str = "") -> str:
        """Return the URL path of one object or of a subresource of it."""
        return self.path(key.namespace if self.namespaced else "", key.name, subresource)


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected objects of a kind: one namespace or (empty) all, a label selector, a field selector."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def query(self) -> dict[str, str]:
        """Return the selectors as query parameters."""
        pairs = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: value for name, value in pairs.items() if value}
