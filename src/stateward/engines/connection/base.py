"""The interface of all database drivers.

A driver has no memory. It marks its settings in the database, so that any later process can revert exactly those. Every
call first verifies that it talks to the right cluster, because pod addresses are reused.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct

from stateward.api.values.base import Json
from stateward.engines.connection.access import Access
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import Allocation, Database, Unknown


class EngineError(Exception):
    """A failed request to the database, with a readable message."""


class UnreachableError(EngineError):
    """No answer: refused, reset, timed out, or unreadable."""


class GarbledError(EngineError):
    """An answer that does not make sense for the database."""


class TooLargeError(EngineError):
    """An answer above the operator's limit; the message has its size, the limit and what to do."""


NO = 400
"""Status of a refused request, as in HTTP."""


class RefusedError(EngineError):
    """The database understood the request and refused it, or cannot serve it now; `status` is that of HTTP.

    Databases without HTTP refuse with `NO`.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def lasting(self) -> bool:
        """Whether the refusal is specific to this request, not a temporary inability."""
        return 0 < self.status < 500 and self.status not in (408, 429)


class NotFormedError(EngineError):
    """The node that answered belongs to no cluster yet."""


class AnotherClusterError(EngineError):
    """Another cluster answers at these addresses."""


class Target(Struct, frozen=True):
    """The cluster that is meant, and its possible endpoints."""

    endpoints: tuple[str, ...]
    """Base URLs, for example `http://10.1.2.3:9200`; tried in order until one answers."""
    name: str
    """The name that the cluster's nodes carry."""
    identity: str = ""
    """The identity that the database gave itself when it was formed; empty if not known yet."""
    access: Access | None = None
    """Credentials for endpoints that begin with `https`; None if nothing is secured."""
    proves: bool = True
    """Whether a query may set something in the database to verify its own answer; read-only callers must not."""


class Answer(Struct, frozen=True):
    """A complete, undecoded answer."""

    status: int
    body: bytes


class Room(Protocol):
    """The memory for answers that may be larger than usual."""

    @property
    def largest(self) -> int:
        """Limit in bytes of all answers that share the room."""
        ...

    @property
    def left(self) -> int:
        """Bytes that are left."""
        ...

    async def take(self, size: int) -> None:
        """Take a number of bytes; may wait for a place. Raise `UnreachableError` if none becomes free."""
        ...


class Call(Struct, frozen=True):
    """One HTTP request to one endpoint."""

    endpoint: str
    method: str
    path: str
    params: Mapping[str, str] | None = None
    body: Json | None = None
    patience: float | None = None
    """Seconds to wait for the whole answer; None for the default."""
    room: Room | None = None
    """The room for the answer; None for the default limit."""


class Transport(Protocol):
    """HTTP access to nodes; the simulation replaces it."""

    async def send(self, call: Call) -> Answer:
        """Return the whole answer with any status; raise `UnreachableError` if there is none.

        Raise `TooLargeError` for an answer that exceeds the call's room.
        """
        ...

    def within(self, access: Access) -> "Transport":
        """Return a transport into one secured cluster: it verifies servers on `https` and presents the credentials."""
        ...


class Engine(Protocol):
    """A database's driver. All methods except `observe` raise `EngineError`, and can be retried afterwards."""

    async def observe(self, target: Target) -> Database | Unknown:
        """Return one consistent observation of the database, or why there is none; never a partial one.

        With `target.proves` the driver may set something in the database to verify the answer, and reverts it: see the
        driver of FoundationDB. Without it the driver only reads.
        """
        ...

    async def limit_allocation(
        self, target: Target, allocation: Allocation, members: frozenset[str] = frozenset()
    ) -> None:
        """Limit which copies the database may place, and store the previous values in the database.

        `members` are going down temporarily; a database with a shutdown API is informed.
        """
        ...

    async def restore_allocation(self, target: Target) -> None:
        """Restore exactly the values from before the limit; do nothing if Stateward has not set one."""
        ...

    async def flush(self, target: Target) -> None:
        """Write memory to disk. A failure only makes the next recovery longer."""
        ...

    async def drain(self, target: Target, members: frozenset[str]) -> None:
        """Drain exactly these members; exclusions that others have set stay."""
        ...

    async def exclude_voters(self, target: Target, members: frozenset[str]) -> None:
        """Exclude these members from voting, and return the vote to all others that Stateward has excluded."""
        ...

    async def add_user(self, target: Target, name: str, password: str) -> None:
        """Create an administrator with this name, unless such a user exists."""
        ...

    async def move_copies(self, target: Target, moves: tuple[Move, ...]) -> None:
        """Move single copies; raise `RefusedError` with the database's reasons when one cannot move.

        Rebalancing is paused from then on, until `resume_balancing`.
        """
        ...

    async def resume_balancing(self, target: Target) -> None:
        """Restore the rebalancing settings from before; do nothing if Stateward has not paused rebalancing."""
        ...


class Speed(Struct, frozen=True):
    """The measured speed of recoveries; None or 0 means not known. Rates are in bytes per second, times in seconds."""

    limit: float | None = None
    """Limit of one node; None if it is unlimited or not known."""
    at_once: int = 0
    rate: float = 0.0
    """Median of the last large recoveries; `rates` is their number."""
    rates: int = 0
    reopen: float = 0.0
    """Median time of the last recoveries that reused nearly all data; `reopened` is their number."""
    reopened: int = 0


@runtime_checkable
class MeasuredEngine(Protocol):
    """The driver of a database that reports how fast it recovers copies."""

    async def recovery_speed(self, target: Target) -> Speed:
        """Return how fast the database recovers copies; only reads."""
        ...


@runtime_checkable
class CommandedEngine(Protocol):
    """The driver of a database that must be formed by a command and needs explicit coordinators."""

    async def create_database(self, target: Target) -> None:
        """Create an empty database; raise `RefusedError` if one exists."""
        ...

    async def configure(self, target: Target) -> None:
        """Maintain the database: apply the settings that `Database.pending_settings` reports."""
        ...
