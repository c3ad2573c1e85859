"""The tour as a host of the page."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.cli.page.timeline import Seen
from stateward.cli.shared.session import Session
from stateward.cli.tour.controls import carry_out, told
from stateward.cli.tour.player import Player
from stateward.timeline.model import Timeline

R = TypeVar("R")


class TourHost:
    """Gives the page the cluster of a player."""

    name = "tour"
    read_only = False
    look_every = 0.5
    trouble = ""

    def __init__(self, player: Player) -> None:
        self._player = player

    @property
    def clock(self) -> tuple[float, float]:
        """The world's time, and how fast it passes."""
        return self._player.frame.now, 0.0 if self._player.paused else self._player.speed

    def clusters(self) -> Sequence[Cluster]:
        """Return the cluster."""
        return (self._player.frame.cluster,)

    async def changed(self) -> None:
        """Wait for the next frame."""
        await self._player.next_frame()

    async def work(self, do: Callable[[Session], Awaitable[R]]) -> R:
        """Return the result of work with a session; raise TimeoutError."""
        return await self._player.ask(do)

    def extra(self) -> Mapping[str, Any]:
        """Return what only the tour shows."""
        return msgspec.to_builtins(told(self._player))

    def timeline(self, ref: str) -> tuple[Seen, Timeline]:  # noqa: ARG002 - there is one cluster
        """Return what was seen of the cluster, and its timeline."""
        return self._player.frame.seen, self._player.frame.timeline

    async def command(self, name: str) -> None:
        """Carry out a command; raise KeyError for an unknown one."""
        await carry_out(self._player, name)
