"""What serves the page: the tour, `dashboard`, or the operator."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from stateward.api.kinds.cluster import Cluster
from stateward.cli.page.timeline import Seen
from stateward.cli.shared.session import Session
from stateward.timeline.model import Timeline

R = TypeVar("R")


class Host(Protocol):
    """Gives the page its clusters, and a session for plans and verbs."""

    @property
    def name(self) -> str:
        """The kind of host: tour, dashboard or operator."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether the page has no verbs."""
        ...

    @property
    def look_every(self) -> float:
        """Real seconds between two reads of a shown cluster's database."""
        ...

    @property
    def clock(self) -> tuple[float, float]:
        """The time in seconds since the epoch, and how many of its seconds pass in a real one."""
        ...

    @property
    def trouble(self) -> str:
        """What keeps the clusters from being up to date; empty if nothing does."""
        ...

    def clusters(self) -> Sequence[Cluster]:
        """Return the present clusters."""
        ...

    async def changed(self) -> None:
        """Wait for the next change of a cluster, or of `extra`."""
        ...

    async def work(self, do: Callable[[Session], Awaitable[R]]) -> R:
        """Return the result of work with a session."""
        ...

    def extra(self) -> Mapping[str, Any] | None:
        """Return what only this host shows."""
        ...

    def timeline(self, ref: str) -> tuple[Seen, Timeline] | None:
        """Return what was seen of a cluster, if this host keeps it itself; None if it does not."""
        ...

    async def command(self, name: str) -> None:
        """Carry out a command that only this host has; raise KeyError for an unknown one."""
        ...
