"""The common parts of all Kubernetes objects: key, metadata, owners.

A projection is a frozen struct with only the needed fields; decoding skips unknown fields at almost no cost. Because
those are lost, a projection is never written back: apply or patch instead.
"""

from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar, dataclass_transform

import msgspec
from msgspec import field


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class WireRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Base of all projections: frozen, camelCase on the wire, and not tracked by the garbage collector."""


class Key(NamedTuple):
    """The key of an object: its namespace (empty for cluster-wide kinds) and name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(WireRecord):
    """An owner of an object, by UID."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(WireRecord):
    """An object's metadata; times are in UTC, the grace period in seconds."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None

    @property
    def terminating(self) -> bool:
        """Whether deletion has been requested."""
        return self.deletion_timestamp is not None

    @property
    def controller_uid(self) -> str:
        """UID of the controlling owner; empty if there is none."""
        return next((owner.uid for owner in self.owner_references if owner.controller), "")


class PartialObject(WireRecord):
    """An object of any kind, metadata only: the content of Secret and ConfigMap caches."""

    metadata: ObjectMeta = ObjectMeta()


class Identity(Protocol):
    """The minimum of metadata for caching."""

    @property
    def name(self) -> str:  # noqa: D102
        ...
    @property
    def namespace(self) -> str:  # noqa: D102
        ...
    @property
    def uid(self) -> str:  # noqa: D102
        ...
    @property
    def resource_version(self) -> str:  # noqa: D102
        ...


class KubeObject(Protocol):
    """Anything with metadata: every projection, and the typed custom resources."""

    @property
    def metadata(self) -> Identity:  # noqa: D102
        ...


K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")


def key_of(obj: KubeObject) -> Key:
    """Return the key under which an object is cached."""
    return Key(obj.metadata.namespace, obj.metadata.name)
