"""The live view: members, versions, health, writes per second, errors, what goes on; plain lines without a terminal."""

import time
from collections.abc import Callable
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from demo.ledger import Ledger
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import MemberStatus
from stateward.cli.shared.picture import HEALTH, columns, state_style, version
from stateward.cli.shared.screen import WIDE
from stateward.cli.status.news import lasting_activities, news

LINE_SECONDS = 10.0
"""How often the writer is reported on in plain output."""


def writes(ledger: Ledger, now: float) -> str:
    """Return how the writer is doing, in one line."""
    gap = f"longest time without a write {ledger.longest_gap:.1f} s"
    return f"{ledger.rate(now):.0f} writes/s, {len(ledger.acknowledged)} acknowledged, {ledger.refused} errors, {gap}"


def screen(step: str, cluster: Cluster | None, ledger: Ledger | None, now: float) -> RenderableType:
    """Return the whole view."""
    parts: list[RenderableType] = [Text(step, style="bold")]
    if cluster is not None:
        health = Text(cluster.status.health or "unknown", style=HEALTH.get(cluster.status.health, "magenta"))
        members = cluster.status.members
        parts += [
            Text.assemble(f"{version(cluster)}   ", health, f"   {members.ready} of {members.desired} members ready"),
            Text(cluster.status.activity, style="cyan"),
            Text(),
            table(cluster.status.member_states),
        ]
    if ledger is not None:
        parts += [Text(), Text(writes(ledger, now))]
        if ledger.last_refusal:
            parts.append(Text(f"last error: {ledger.last_refusal}"[:160], style="dim"))
    return Group(*parts)


def table(members: list[MemberStatus]) -> Table:
    """Return one line per member."""
    shown = columns("MEMBER", "STATE", "VERSION", "NODE", "ZONE", "REASON")
    for member in members:
        shown.add_row(
            member.name,
            Text(member.state, state_style(member)),
            member.version,
            member.node,
            member.zone,
            member.reason,
        )
    return shown


class View:
    """Shows what goes on. On a terminal one picture is redrawn; elsewhere lines are appended when there is news."""

    def __init__(self, console: Console, begin: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._begin = begin
        self._monotonic = monotonic
        self._step = ""
        self._cluster: Cluster | None = None
        self._printed = frozenset[str]()
        self._ledger: Ledger | None = None
        self._said = 0.0
        self._live = (
            Live(console=console, get_renderable=self._draw, refresh_per_second=2) if console.is_terminal else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def step(self, text: str) -> None:
        """Say what is done next."""
        self._step = text
        self.say(f"== {text}")

    def say(self, text: str) -> None:
        """Print a line with the time since the beginning; it stays above a live picture."""
        self._console.print(f"[{clock(self._elapsed())}] {text}", markup=False, highlight=False, soft_wrap=True)

    def show(self, picture: RenderableType) -> None:
        """Print a table or a chart; without a terminal no line of it is wrapped."""
        wide = None if self._live is not None else Console(file=self._console.file, width=WIDE, no_color=True)
        (wide or self._console).print(picture, highlight=False)

    def seen(self, cluster: Cluster) -> None:
        """Take in a new state of the cluster."""
        before, self._cluster = self._cluster, cluster
        if self._live is None:
            for line in news(before, cluster, self._printed):
                self.say(line)
        self._printed = lasting_activities(self._printed, cluster)

    def watch(self, ledger: Ledger) -> None:
        """Show a writer's ledger from now on."""
        self._ledger = ledger

    def tick(self) -> None:
        """Report on the writer now and then, where nothing is redrawn."""
        if self._live is None and self._ledger is not None and self._elapsed() - self._said >= LINE_SECONDS:
            self._said = self._elapsed()
            self.say(writes(self._ledger, self._monotonic()))

    def _draw(self) -> RenderableType:
        return screen(f"[{clock(self._elapsed())}] {self._step}", self._cluster, self._ledger, self._monotonic())

    def _elapsed(self) -> float:
        return self._monotonic() - self._begin


def clock(seconds: float) -> str:
    """Return a time span as minutes and seconds."""
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"
