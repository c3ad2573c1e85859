"""The interface to an API server: a few methods that the whole product goes through.

`HttpApi` speaks to a real server; a simulation implements the same protocol in memory. Whoever implements it keeps the
contract in `tests/contract`, which runs against both.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Protocol

import msgspec

from stateward.kube.objects.metadata import Key, KubeObject, T
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.watching import Unreadable, WatchEvent

Body = Mapping[str, Any] | msgspec.Struct
"""An object to send: a mapping as in a manifest, or a struct that encodes to one."""


class PatchKind(StrEnum):
    """How a patch is written; the values are the content types."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


class Propagation(StrEnum):
    """What happens to the objects that a deleted one owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class Preconditions:
    """Which object exactly may be deleted.

    The UID is not optional: a name can be taken by a successor between the read and the delete, and then the wrong
    data would go. The resourceVersion (empty: any) makes sure that nothing changed since the decision was made.
    """

    uid: str
    resource_version: str = ""

    @classmethod
    def of(cls, obj: KubeObject) -> "Preconditions":
        """Return the preconditions that exactly this version of an object fulfils."""
        return cls(obj.metadata.uid, obj.metadata.resource_version)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete. `grace_seconds` None leaves the object's own grace period."""

    preconditions: Preconditions
    propagation: Propagation = Propagation.BACKGROUND
    grace_seconds: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """How to apply. `manager` owns the fields; `force` takes them from other managers instead of a Conflict."""

    manager: str
    force: bool = False
    subresource: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    """How much of a list to ask for: at most `limit` objects, going on from `continue_token`.

    `resource_version` empty asks for the most recent state; "0" accepts any state that the server has at hand.
    """

    limit: int = 500
    continue_token: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `continue_token` is empty on the last one."""

    items: tuple[T, ...]
    resource_version: str
    continue_token: str = ""
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class WatchStart:
    """Where a watch begins: after `resource_version`, or (`initial_state`) with everything that is there now.

    `timeout_seconds` is when the server ends the stream of its own accord.
    """

    resource_version: str = ""
    initial_state: bool = False
    timeout_seconds: int = 300


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request outside the object model: logs, version, discovery, health."""

    path: str
    method: str = "GET"
    query: Mapping[str, str] | None = None
    body: Body | None = None


class Api(Protocol):
    """An API server. Every method raises `ApiError` (see `errors` for its types) and nothing else."""

    async def get(self, resource: Resource[T], key: Key) -> T:
        """Read one object; raises NotFound when it is not there."""
        ...

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        """Read one page of a list; raises Gone when the continue token is too old."""
        ...

    def watch(
        self, resource: Resource[T], selection: Selection, start: WatchStart
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Follow changes; ends when the server ends the stream, raises Gone when the start is too old.

        Close the generator (`contextlib.aclosing`) to give the connection back.
        """
        ...

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        """Create an object (or, with a generateName, one of a fresh name); raises AlreadyExists."""
        ...

    async def apply(self, resource: Resource[T], key: Key, body: Body, options: ApplyOptions) -> T:
        """Server-side apply: make the named fields so; raises Conflict when another manager owns one."""
        ...

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        """Patch an object or its subresource; with a resourceVersion in the patch, raises Conflict if it changed."""
        ...

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        """Delete one exact object; returns it while it still terminates, None when it is gone at once.

        Raises Conflict when the preconditions do not hold, NotFound when it is not there.
        """
        ...

    async def evict(self, key: Key, options: DeleteOptions) -> None:
        """Evict a pod within its disruption budget; raises TooManyRequests when the budget says not now."""
        ...

    async def request(self, request: RawRequest) -> bytes:
        """Send a request outside the object model and return the body of the answer."""
        ...

    def acting_as(self, user: str) -> "Api":
        """Return the same server, to which every request is made with the rights of another user.

        Of a service account, the server adds the groups by itself. The methods raise Forbidden where that user has not
        the right, or this process may not act as that user.
        """
        ...
