"""The timeline as lines of characters, one column a moment: what a terminal shows. Colours are names of styles."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from stateward.timeline.model import Band, Span, Timeline
from stateward.timeline.phases import STYLES, Phase, band_style
from stateward.timeline.times import clock, tick_times

Piece = tuple[str, str]
"""Text and its style, in rich's words; empty for none."""

RANK = {phase: rank for rank, phase in enumerate((Phase.WAIT, *(p for p in Phase if p is not Phase.WAIT)))}
"""Which phase a column shows if several fall into it: waiting loses, trouble wins."""


class Line(Struct, frozen=True):
    """One line: its label, and pieces of equal style."""

    label: str
    pieces: tuple[Piece, ...]


def lines(timeline: Timeline, width: int) -> list[Line]:
    """Return the chart, `width` columns wide without labels: bands, rows and the axis."""
    found = [Line(band.name, _pieces(band_cells(band, timeline, width))) for band in timeline.bands]
    by_row: dict[str, list[Span]] = {}
    for span in timeline.spans:
        by_row.setdefault(span.row, []).append(span)
    found += [Line(row.name, _pieces(cells(by_row.get(row.name, ()), timeline, width))) for row in timeline.rows]
    return [*found, Line("", ((axis(timeline, width), "dim"),)), Line("", ((labels(timeline, width), "dim"),))]


def cells(spans: Sequence[Span], timeline: Timeline, width: int) -> list[Piece]:
    """Return one cell for each column: the letter of its phase, in the phase's colour."""
    row: list[Phase | None] = [None] * width
    for span in spans:
        first, last = columns(span.begin, span.end, timeline, width)
        for column in range(first, last):
            known = row[column]
            row[column] = span.phase if known is None or RANK[span.phase] > RANK[known] else known
    return [("·", "dim") if p is None else (STYLES[p].letter, f"reverse {STYLES[p].terminal}") for p in row]


def band_cells(band: Band, timeline: Timeline, width: int) -> list[Piece]:
    """Return one cell for each column of a band; the worst value wins, and time without a value is unknown."""
    row = [""] * width
    order = ("", "green", "accepted", "yellow", "unknown", "red", "refused")
    for stretch in band.stretches:
        first, last = columns(stretch.begin, stretch.end, timeline, width)
        value = stretch.value if stretch.value in order else "unknown"
        for column in range(first, last):
            row[column] = max(row[column], value, key=order.index)
    return [_cell(value or "unknown") for value in row]


def _cell(value: str) -> Piece:
    style = band_style(value)
    return style.letter, f"reverse {style.terminal}"


def columns(begin: float, end: float | None, timeline: Timeline, width: int) -> tuple[int, int]:
    """Return the first column of a span and the one after its last: at least one, so that nothing is lost."""
    scale = width / (timeline.end - timeline.begin)
    first = max(0, min(width - 1, int((begin - timeline.begin) * scale)))
    last = width if end is None else round((end - timeline.begin) * scale)
    return first, max(first + 1, min(width, last))


def _pieces(found: Sequence[Piece]) -> tuple[Piece, ...]:
    joined: list[Piece] = []
    for text, style in found:
        if joined and joined[-1][1] == style:
            joined[-1] = (joined[-1][0] + text, style)
        else:
            joined.append((text, style))
    return tuple(joined)


def axis(timeline: Timeline, width: int) -> str:
    """Return the line with a tick at each labelled time."""
    row = ["─"] * width
    for at in tick_times(timeline.begin, timeline.end, max(2, width // 14)):
        row[columns(at, at, timeline, width)[0]] = "┬"
    if timeline.now is not None:
        row[columns(timeline.now, timeline.now, timeline, width)[0]] = "▲"
    return "".join(row)


def labels(timeline: Timeline, width: int) -> str:
    """Return the line with the times below the ticks."""
    row = [" "] * width
    free = 0
    for at, text in _labels(timeline, width):
        first = min(columns(at, at, timeline, width)[0], width - len(text))
        if first >= free:
            row[first : first + len(text)] = text
            free = first + len(text) + 1
    return "".join(row).rstrip()


def _labels(timeline: Timeline, width: int) -> Iterator[tuple[float, str]]:
    times = tick_times(timeline.begin, timeline.end, max(2, width // 14))
    seconds = len(times) > 1 and times[1] - times[0] < 60
    yield from ((at, clock(at, seconds=seconds)) for at in times)


def legend(timeline: Timeline) -> list[tuple[Phase, str]]:
    """Return the phases that occur, with their meaning."""
    present = {span.phase for span in timeline.spans}
    return [(phase, STYLES[phase].meaning) for phase in Phase if phase in present]
