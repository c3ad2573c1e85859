"""What a timeline shows, independent of where it comes from: a cluster's history, a simulation, a measurement.

Times are seconds since the epoch, or since any other beginning if all of them are.
"""

from msgspec import Struct

from stateward.timeline.phases import Phase


class Span(Struct, frozen=True):
    """A phase of one member from `begin` to `end`; `end` is None while it lasts."""

    row: str
    phase: Phase
    begin: float
    end: float | None = None
    text: str = ""
    """Why, in one sentence."""


class Stretch(Struct, frozen=True):
    """One value of a band from `begin` to `end`; `end` is None while it lasts."""

    value: str
    begin: float
    end: float | None = None


class Band(Struct, frozen=True):
    """A property of the whole cluster over time, such as its health. Time without a stretch is unknown."""

    name: str
    stretches: tuple[Stretch, ...]


class Mark(Struct, frozen=True):
    """An event at one moment, of a row or (empty) of the whole cluster."""

    at: float
    text: str
    row: str = ""


class Row(Struct, frozen=True):
    """A line of the picture: a member, and the group (pool) that it belongs to."""

    name: str
    group: str = ""


class Timeline(Struct, frozen=True):
    """The whole picture from `begin` to `end`; `now` is the present if it is within, None for a finished story."""

    title: str
    begin: float
    end: float
    rows: tuple[Row, ...]
    spans: tuple[Span, ...] = ()
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    now: float | None = None
    subtitle: str = ""


def cut(timeline: Timeline, begin: float, end: float) -> Timeline:
    """Return the part of a timeline from `begin` to `end`; what is outside is left out, what reaches out is cut.

    Members with nothing in it have no row.
    """
    spans = tuple(
        Span(s.row, s.phase, max(s.begin, begin), s.end if s.end is None else min(s.end, end), s.text)
        for s in timeline.spans
        if s.begin <= end and (s.end is None or s.end >= begin)
    )
    bands = tuple(Band(band.name, tuple(_cut(band, begin, end))) for band in timeline.bands)
    marks = tuple(mark for mark in timeline.marks if begin <= mark.at <= end)
    used = {span.row for span in spans} | {mark.row for mark in marks}
    rows = tuple(row for row in timeline.rows if not row.group or row.name in used)
    now = timeline.now if timeline.now is not None and begin <= timeline.now <= end else None
    return Timeline(timeline.title, begin, end, rows, spans, bands, marks, now, timeline.subtitle)


def _cut(band: Band, begin: float, end: float) -> list[Stretch]:
    inside = (s for s in band.stretches if s.begin <= end and (s.end is None or s.end >= begin))
    return [Stretch(s.value, max(s.begin, begin), s.end if s.end is None else min(s.end, end)) for s in inside]


def totals(timeline: Timeline, band: str) -> dict[str, float]:
    """Return the seconds that a band has each of its values; time that no stretch covers counts as unknown."""
    found = dict[str, float]()
    for stretch in (s for b in timeline.bands if b.name == band for s in b.stretches):
        length = (timeline.end if stretch.end is None else stretch.end) - stretch.begin
        found[stretch.value] = found.get(stretch.value, 0.0) + max(0.0, length)
    gap = timeline.end - timeline.begin - sum(found.values())
    return found | ({"unknown": found.get("unknown", 0.0) + gap} if gap > 0.5 else {})
