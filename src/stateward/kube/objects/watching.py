"""The events of a watch, decoded in one pass from the bytes of a line.

The server writes `type` before `object`, so a tagged union decodes the object directly into its projection, without an
intermediate dictionary. Errors in the stream are raised, not yielded, so that a 410 in the stream and a 410 as HTTP
status are the same for the caller.
"""

from typing import Any, Generic, TypeAlias

import msgspec

from stateward.kube.objects.errors import Status
from stateward.kube.objects.metadata import ObjectMeta, T

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Added(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="ADDED", gc=False):
    """An object that is new to this watch."""

    object: T


class Modified(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="MODIFIED", gc=False):
    """A new version of an object."""

    object: T


class Deleted(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="DELETED", gc=False):
    """An object that is gone, or that the selector no longer matches; its resourceVersion is that of the change."""

    object: T


class Marked(msgspec.Struct, frozen=True, gc=False):
    """The placeholder object of a bookmark."""

    metadata: ObjectMeta = ObjectMeta()


class Bookmark(msgspec.Struct, frozen=True, tag_field="type", tag="BOOKMARK", gc=False):
    """The server's statement that everything up to a resourceVersion has been sent."""

    object: Marked = Marked()

    @property
    def resource_version(self) -> str:
        """The version up to which the stream is complete."""
        return self.object.metadata.resource_version

    @property
    def initial_events_end(self) -> bool:
        """Whether this bookmark ends the initial state of a watch."""
        return self.object.metadata.annotations.get(_INITIAL_EVENTS_END) == "true"


class Unreadable(msgspec.Struct, frozen=True, gc=False):
    """An existing object that does not fit its projection: unknown, which is not the same as absent.

    `metadata` is the readable part; `reason` names the field and the expected type.
    """

    metadata: ObjectMeta
    reason: str
    deleted: bool = False

    @property
    def key(self) -> str:
        """The known part of the object's namespace and name."""
        return f"{self.metadata.namespace or '?'}/{self.metadata.name or '?'}"


class Failed(msgspec.Struct, frozen=True, tag_field="type", tag="ERROR", gc=False):
    """An error inside the stream; the client raises it as the typed error of its status."""

    object: Status = Status()


WatchEvent: TypeAlias = Added[T] | Modified[T] | Deleted[T] | Bookmark | Unreadable


def event_type(view: type[T]) -> Any:
    """Return the union of all possible lines of a watch on `view`."""
    return Added[view] | Modified[view] | Deleted[view] | Bookmark | Failed
