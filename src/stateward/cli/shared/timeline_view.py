"""A timeline for a terminal: the chart, its events, totals and legend."""

from rich.console import Group
from rich.text import Text

from stateward.cli.shared import screen
from stateward.timeline.chart import Line, legend, lines
from stateward.timeline.model import Band, Timeline, totals
from stateward.timeline.phases import STYLES, band_style
from stateward.timeline.times import clock, duration

NARROW, WIDE = 60, 120
"""Columns of the chart: at least, and without a terminal."""


def view(shown: Timeline) -> Group:
    """Return the chart for a terminal: head, bands, rows, axis, events and legend."""
    console = screen.console()
    label = max([12, *(len(row.name) for row in shown.rows)])
    width = max(NARROW, console.width - label - 3) if console.is_terminal else WIDE
    period = f"{clock(shown.begin, date=True)} to {clock(shown.end, date=True)} UTC, "
    head = Text.assemble((shown.title, "bold"), f"  {shown.subtitle}\n", (period, "dim"))
    head.append(duration(shown.end - shown.begin), "dim")
    parts = [head, Text(), *(drawn(line, label) for line in lines(shown, width)), Text()]
    parts += [Text(f"{clock(mark.at, seconds=True)}  {mark.text}") for mark in shown.marks]
    parts += [Text(), *(spent(band, shown) for band in shown.bands)]
    for phase, meaning in legend(shown):
        style = STYLES[phase]
        parts.append(Text.assemble((f" {style.letter} ", f"reverse {style.terminal}"), f" {phase.value}: {meaning}"))
    return Group(*parts)


def drawn(line: Line, label: int) -> Text:
    """Return a line of the chart with its label."""
    found = Text(f"{line.label:>{label}}  ", no_wrap=True, overflow="crop")
    for text, style in line.pieces:
        found.append(text, style or None)
    return found


def spent(band: Band, shown: Timeline) -> Text:
    """Return how long a band had each of its values."""
    parts = sorted(totals(shown, band.name).items(), key=lambda each: -each[1])
    said = ", ".join(f"{value} ({band_style(value).letter}) {duration(seconds)}" for value, seconds in parts)
    return Text(f"{band.name}: {said}")
