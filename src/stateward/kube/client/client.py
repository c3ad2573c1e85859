"""The interface to an API server: a few methods that all access uses.

`HttpApi` talks to a real server; a simulation implements the same protocol in memory. Every implementation must pass
`tests/contract`, which runs against both.
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
    """The format of a patch; the values are the content types."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


class Propagation(StrEnum):
    """What happens to the objects that a deleted one owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class Preconditions:
    """The exact object that may be deleted.

    The UID is mandatory: between the read and the delete another object may take the name, and the wrong data would be
    deleted. The resourceVersion (empty: any) ensures that nothing has changed since the decision.
    """

    uid: str
    resource_version: str = ""

    @classmethod
    def of(cls, obj: KubeObject) -> "Preconditions":
        """Return preconditions for exactly this version of an object."""
        return cls(obj.metadata.uid, obj.metadata.resource_version)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of a delete. With `grace_seconds` None the object's own grace period applies."""

    preconditions: Preconditions
    propagation: Propagation = Propagation.BACKGROUND
    grace_seconds: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Options of an apply. `manager` owns the fields; `force` takes them from other managers instead of a Conflict."""

    manager: str
    force: bool = False
    subresource: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The part of a list to read: at most `limit` objects, continuing at `continue_token`.

    `resource_version` empty requests the most recent state; "0" accepts any state that the server has cached.
    """

    limit: int = 500
    continue_token: str = ""
    resource_version: str = ""


WHOLE = ListOptions(limit=0)
"""The whole list in one answer."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `continue_token` is empty on the last one."""

    items: tuple[T, ...]
    resource_version: str
    continue_token: str = ""
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class WatchStart:
    """The start of a watch: after `resource_version`, or (`initial_state`) with all existing objects.

    The server ends the stream after `timeout_seconds`.
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
    headers: Mapping[str, str] | None = None


class Api(Protocol):
    """An API server. Every method raises only `ApiError` (see `errors` for its types)."""

    async def get(self, resource: Resource[T], key: Key) -> T:
        """Read one object; raise NotFound if it does not exist."""
        ...

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        """Read one page of a list, without options the whole list; raise Gone if the continue token is too old."""
        ...

    def watch(
        self, resource: Resource[T], selection: Selection, start: WatchStart
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Follow changes until the server ends the stream; raise Gone if the start is too old.

        Close the generator (`contextlib.aclosing`) to release the connection.
        """
        ...

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        """Create an object (with a generateName, under a generated name); raise AlreadyExists."""
        ...

    async def apply(self, resource: Resource[T], key: Key, body: Body, options: ApplyOptions) -> T:
        """Server-side apply of the given fields; raise Conflict if another manager owns one."""
        ...

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        """Patch an object or its subresource; a patch with an outdated resourceVersion raises Conflict."""
        ...

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        """Delete one exact object; return it if it is still terminating, None if it is already gone.

        Raise Conflict if the preconditions do not hold, NotFound if it does not exist.
        """
        ...

    async def evict(self, key: Key, options: DeleteOptions) -> None:
        """Evict a pod within its disruption budget; raise TooManyRequests if the budget does not allow it now."""
        ...

    async def request(self, request: RawRequest) -> bytes:
        """Send a request outside the object model and return the body of the answer."""
        ...

    def acting_as(self, user: str) -> "Api":
        """Return the same server, with every request made with the rights of another user.

        For a service account, the server adds the groups itself. The methods raise Forbidden if that user lacks a
        right, or if this process may not impersonate the user.
        """
        ...
