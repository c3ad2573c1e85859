"""What a driver must answer and what it can be told, whatever the database.

A driver remembers nothing. What it sets in the database it marks there, so that any later process can take exactly that
back. Every call first makes sure that it talks to the right cluster: addresses of pods are used again.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct

from stateward.api.values.base import Json
from stateward.engines.connection.access import Access
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import Allocation, Database, Unknown


class EngineError(Exception):
    """Something the database did not do or answer, in words a person understands."""


class UnreachableError(EngineError):
    """No answer: refused, reset, timed out, or more than can be read."""


class GarbledError(EngineError):
    """An answer that is not what the database would say."""


class TooLargeError(EngineError):
    """An answer that is larger than the operator reads; the message has its size, the limit and what to do."""


NO = 400
"""Status of a request that is refused for what it asks."""


class RefusedError(EngineError):
    """The database understood and said no, or that it cannot now; `status` is that of HTTP.

    A database that speaks something else says no with `NO`.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def lasting(self) -> bool:
        """Whether it says no to this very request, and not that it can do nothing now."""
        return 0 < self.status < 500 and self.status not in (408, 429)


class NotFormedError(EngineError):
    """The node that answered belongs to no cluster yet."""


class AnotherClusterError(EngineError):
    """Somebody else answers at these addresses."""


class Target(Struct, frozen=True):
    """Which cluster is meant, and where it may answer."""

    endpoints: tuple[str, ...]
    """Base URLs, for example `http://10.1.2.3:9200`; tried in turn until one answers."""
    name: str
    """The name that the cluster's nodes carry."""
    identity: str = ""
    """The identity that the database gave itself when it was formed; empty while that is not known."""
    access: Access | None = None
    """How to get in where an endpoint begins with `https`; None where nothing is secured."""
    proves: bool = True
    """Whether a question may change something in the database to prove what it answers; those who only look must not.
    """


class Answer(Struct, frozen=True):
    """A whole answer, as it came."""

    status: int
    body: bytes


class Room(Protocol):
    """How much may still be answered, where more than the usual is expected."""

    @property
    def largest(self) -> int:
        """Bytes of all answers that share the room."""
        ...

    @property
    def left(self) -> int:
        """Bytes that may still be answered."""
        ...

    async def take(self, size: int) -> None:
        """Take so many bytes; may wait for a place, and raises `UnreachableError` where none comes."""
        ...


class Call(Struct, frozen=True):
    """One HTTP request to one endpoint."""

    endpoint: str
    method: str
    path: str
    params: Mapping[str, str] | None = None
    body: Json | None = None
    patience: float | None = None
    """How long to wait for the whole answer, in seconds, where that is not the usual."""
    room: Room | None = None
    """What the answer may take, where that is not the usual."""


class Transport(Protocol):
    """The way to nodes over HTTP: the place where the simulation puts another world."""

    async def send(self, call: Call) -> Answer:
        """Return the whole answer, whatever its status; raise `UnreachableError` where there is none.

        Raises `TooLargeError` for one that is larger than the call has room for.
        """
        ...

    def within(self, access: Access) -> "Transport":
        """Return the way into one secured cluster: whoever answers by `https` is verified, and shown who asks."""
        ...


class Engine(Protocol):
    """A database's driver. All but `observe` raise `EngineError`, and may be called again after they did."""

    async def observe(self, target: Target) -> Database | Unknown:
        """Return one consistent picture of the database, or why there is none; never a part of one.

        With `target.proves` it may set something in the database to prove what it answers, and takes it back: see the
        driver of FoundationDB. Without, it only asks.
        """
        ...

    async def limit_allocation(
        self, target: Target, allocation: Allocation, members: frozenset[str] = frozenset()
    ) -> None:
        """Limit which copies the database may place, and remember in the database what was set before.

        It is told which members go down for a moment, where it has a word for that.
        """
        ...

    async def restore_allocation(self, target: Target) -> None:
        """Put back exactly what was set before the limit; do nothing where there is none of ours."""
        ...

    async def flush(self, target: Target) -> None:
        """Write memory to disk. A failure makes the next recovery longer and nothing else."""
        ...

    async def drain(self, target: Target, members: frozenset[str]) -> None:
        """Move data away from these members, and from no others on our account."""
        ...

    async def exclude_voters(self, target: Target, members: frozenset[str]) -> None:
        """Take the vote from these members, and give it back to all others that we took it from."""
        ...

    async def add_user(self, target: Target, name: str, password: str) -> None:
        """Make an administrator of this name, unless there is a user of the name already."""
        ...

    async def move_copies(self, target: Target, moves: tuple[Move, ...]) -> None:
        """Move single copies; raise `RefusedError` with the database's reasons when one cannot move.

        The database moves no copies for the sake of balance from then on, until `resume_balancing`.
        """
        ...

    async def resume_balancing(self, target: Target) -> None:
        """Put back what was set for balancing before copies were moved; do nothing where that was not us."""
        ...


@runtime_checkable
class Told(Protocol):
    """The driver of a database that has to be told to make itself, and who its coordinators are."""

    async def form(self, target: Target) -> None:
        """Make the database, empty; raise `RefusedError` where there is one."""
        ...

    async def tend(self, target: Target) -> None:
        """Tell it what it should be told for its own sake: what `Database.untended` speaks of."""
        ...
