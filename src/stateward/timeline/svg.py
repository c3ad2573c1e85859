"""The timeline as SVG: self-contained, light and dark by the viewer's preference, readable without colours.

Each phase shows its letter, and each bar says what it is in a `title`, which screen readers read and mice show.
"""

from collections.abc import Iterator
from html import escape

from msgspec import Struct

from stateward.api.values.quantity import amount
from stateward.timeline.model import Band, Mark, Row, Span, Stretch, Timeline, totals
from stateward.timeline.phases import BANDS, STYLES, Phase, band_style
from stateward.timeline.times import clock, duration, tick_times

WIDTH = 1200.0
MARGIN = 24.0
HEAD = 76.0
ROW, BAR = 24.0, 16.0
BAND, BAND_BAR = 22.0, 10.0
AXIS = 30.0
LEGEND_LINE, LEGEND_COLUMN = 22.0, 384.0
CHARACTER = 7.4
"""The width of a character of the labels, in pixels at 13 pixels of height."""
LETTER_ROOM = 11.0
"""The width from which a bar shows its letter."""
LEAST = 2.5
"""The width of the shortest bar: a step of a second in a day must not vanish."""

FONT = "ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"


class Frame(Struct, frozen=True):
    """Where things are: the chart from `left` to `right`, rows from `top`, the axis at `bottom`, and the height."""

    timeline: Timeline
    left: float
    right: float
    top: float
    bottom: float
    height: float

    def x(self, at: float) -> float:
        """Return the place of a time."""
        whole = self.timeline.end - self.timeline.begin
        share = (at - self.timeline.begin) / whole
        return self.left + max(0.0, min(1.0, share)) * (self.right - self.left)


def svg(timeline: Timeline) -> str:
    """Return the picture as one SVG document."""
    frame = frame_of(timeline)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {frame.height:g}" width="{WIDTH:g}"'
            f' height="{frame.height:g}" role="img" aria-labelledby="sw-title sw-desc" class="sw">'
        ),
        f'<title id="sw-title">Timeline of {text(timeline.title)}</title>',
        f'<desc id="sw-desc">{text(summary(timeline))}</desc>',
        f"<style>{style_sheet()}</style>",
        f'<rect class="ground" width="{WIDTH:g}" height="{frame.height:g}" rx="14"/>',
        *heading(frame),
        *grid(frame),
        *bands(frame),
        *rows(frame),
        *marks(frame),
        *present(frame),
        *legend(frame),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def frame_of(timeline: Timeline) -> Frame:
    """Return the places for a timeline: the labels get what the longest needs."""
    longest = max((len(row.name) for row in timeline.rows), default=0)
    left = MARGIN + min(300.0, max(70.0, longest * CHARACTER + 16))
    top = HEAD + len(timeline.bands) * BAND + (10 if timeline.bands else 0)
    groups = sum(before.group != after.group for before, after in zip(timeline.rows, timeline.rows[1:], strict=False))
    bottom = top + len(timeline.rows) * ROW + groups * 8
    items = len(legend_items(timeline))
    columns = int((WIDTH - 2 * MARGIN) // LEGEND_COLUMN)
    height = bottom + AXIS + 18 + -(-items // columns) * LEGEND_LINE + 14
    return Frame(timeline, left, WIDTH - MARGIN, top, bottom, height)


def style_sheet() -> str:
    """Return the colours and fonts; the classes are those of phases and band values."""
    light = {"ground": "#ffffff", "ink": "#1c2430", "soft": "#5b6676", "line": "#e6e9ee", "lane": "#f5f7f9"}
    dark = {"ground": "#12171e", "ink": "#e6ebf2", "soft": "#93a0b1", "line": "#262f3a", "lane": "#19202a"}
    on = {phase: style.light for phase, style in STYLES.items()}
    off = {phase: style.dark for phase, style in STYLES.items()}
    values = {name: (style.light, style.dark) for name, style in BANDS.items()}

    def palette(colours: dict[str, str], phases: dict[Phase, str], index: int) -> str:
        named = [f"--{name}:{colour}" for name, colour in colours.items()]
        named += [f"--p-{phase.value}:{colour}" for phase, colour in phases.items()]
        named += [f"--b-{name}:{pair[index]}" for name, pair in values.items()]
        named += [f"--tp-{phase.value}:{ink_on(colour)}" for phase, colour in phases.items()]
        named += [f"--tb-{name}:{ink_on(pair[index])}" for name, pair in values.items()]
        return ";".join(named)

    kinds = [*(f"p-{phase.value}" for phase in Phase), *(f"b-{name}" for name in values)]
    rules = "".join(f".{kind}{{fill:var(--{kind})}}.sw .t{kind}{{fill:var(--t{kind})}}" for kind in kinds)
    return (
        f".sw{{{palette(light, on, 0)};max-width:100%;height:auto}}"
        f"@media(prefers-color-scheme:dark){{.sw{{{palette(dark, off, 1)}}}}}"
        f".sw text{{font-family:{FONT};font-size:13px;fill:var(--ink)}}"
        ".sw .ground{fill:var(--ground)}.sw .lane{fill:var(--lane)}"
        ".sw .h1{font-size:19px;font-weight:650}.sw .soft{fill:var(--soft);font-size:12px}"
        ".sw .name{font-size:12.5px}.sw .group{font-weight:650}"
        ".sw .grid{stroke:var(--line);stroke-width:1}.sw .axis{stroke:var(--soft);stroke-width:1}"
        ".sw .letter{font-size:10.5px;font-weight:700;text-anchor:middle;pointer-events:none}"
        ".sw .mid{text-anchor:middle}.sw .end{text-anchor:end}"
        ".sw .now{stroke:#d64545;stroke-width:1.5}.sw .nowtext{fill:#d64545;font-size:11px;font-weight:650}"
        ".sw .mark{fill:var(--ink)}.sw .markline{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3}"
        f"{rules}"
    )


def ink_on(colour: str) -> str:
    """Return black or white for letters on a colour `#rrggbb`, by its luminance as WCAG 2 defines it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#1c2430" if luminance > 0.3 else "#ffffff"


def heading(frame: Frame) -> Iterator[str]:
    """Yield the name, and the period with its length."""
    timeline = frame.timeline
    yield f'<text class="h1" x="{MARGIN:g}" y="38">{text(timeline.title)}</text>'
    yield f'<text class="soft" x="{MARGIN:g}" y="58">{text(timeline.subtitle)}</text>'
    period = f"{clock(timeline.begin, date=True)} to {clock(timeline.end, date=True)} UTC"
    yield f'<text class="soft end" x="{frame.right:g}" y="38">{text(period)}</text>'
    yield f'<text class="soft end" x="{frame.right:g}" y="58">{duration(timeline.end - timeline.begin)}</text>'


def grid(frame: Frame) -> Iterator[str]:
    """Yield lines at round times, the axis, and the times below it."""
    times = tick_times(frame.timeline.begin, frame.timeline.end, 12)
    seconds = len(times) > 1 and times[1] - times[0] < 60
    for at in times:
        x = frame.x(at)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD - 4:g}" y2="{frame.bottom:g}"/>'
        label = clock(at, seconds=seconds)
        if frame.left + 14 < x < frame.right - 14:
            yield f'<text class="soft mid" x="{x:.1f}" y="{frame.bottom + 19:g}">{label}</text>'
    y = frame.bottom + 0.5
    yield f'<line class="axis" x1="{frame.left:g}" x2="{frame.right:g}" y1="{y:g}" y2="{y:g}"/>'


def bands(frame: Frame) -> Iterator[str]:
    """Yield the bands: thin bars above the rows; time without a value looks unknown."""
    for index, band in enumerate(frame.timeline.bands):
        y = HEAD + index * BAND
        yield f'<text class="soft end" x="{frame.left - 12:g}" y="{y + 9.5:g}">{text(band.name)}</text>'
        ground = frame.right - frame.left
        yield (
            f'<rect class="b-unknown" opacity="0.35" x="{frame.left:g}" y="{y:g}" width="{ground:g}"'
            f' height="{BAND_BAR:g}" rx="3"><title>{text(band.name)}: not known</title></rect>'
        )
        for stretch in band.stretches:
            yield stretch_bar(frame, band, stretch, y)


def stretch_bar(frame: Frame, band: Band, stretch: Stretch, y: float) -> str:
    """Return the bar of one value of a band."""
    end = frame.timeline.end if stretch.end is None else stretch.end
    x, width = frame.x(stretch.begin), max(LEAST, frame.x(end) - frame.x(stretch.begin))
    name = stretch.value if stretch.value in BANDS else "unknown"
    said = f"{band.name} {stretch.value}, {when(stretch.begin, end)}: {band_style(stretch.value).meaning}"
    bar = (
        f'<rect class="b-{name}" x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{BAND_BAR:g}" rx="2">'
        f"<title>{text(said)}</title></rect>"
    )
    if width < LETTER_ROOM * 3:
        return bar
    return bar + f'<text class="letter tb-{name}" x="{x + 8:.1f}" y="{y + 8.8:g}">{band_style(name).letter}</text>'


def rows(frame: Frame) -> Iterator[str]:
    """Yield each row with its name and its bars."""
    mine: dict[str, list[Span]] = {}
    for span in frame.timeline.spans:
        mine.setdefault(span.row, []).append(span)
    for row, y in places(frame):
        bar_y = y + (ROW - BAR) / 2
        yield (
            f'<rect class="lane" x="{frame.left:g}" y="{bar_y:g}" width="{frame.right - frame.left:g}"'
            f' height="{BAR:g}" rx="3"/>'
        )
        chosen = "name end" if row.group else "name group end"
        yield f'<text class="{chosen}" x="{frame.left - 12:g}" y="{y + 16:g}">{text(shortened(row.name))}</text>'
        for span in sorted(mine.get(row.name, ()), key=lambda s: (s.phase is not Phase.WAIT, s.begin)):
            yield span_bar(frame, span, bar_y)


def places(frame: Frame) -> Iterator[tuple[Row, float]]:
    """Yield the rows with their places; pools are set apart by a little room."""
    y, before = frame.top, None
    for row in frame.timeline.rows:
        if before is not None and before.group != row.group:
            y += 8
        yield row, y
        y, before = y + ROW, row


def span_bar(frame: Frame, span: Span, y: float) -> str:
    """Return the bar of a phase, with its letter if there is room."""
    end = frame.timeline.end if span.end is None else span.end
    x, width = frame.x(span.begin), max(LEAST, frame.x(end) - frame.x(span.begin))
    style = STYLES[span.phase]
    said = f"{span.row} {style.meaning}, {when(span.begin, end)}" + (f": {span.text}" if span.text else "")
    bar = (
        f'<rect class="p-{span.phase.value}" x="{x:.1f}" y="{y:g}" width="{max(LEAST, width - 0.6):.1f}"'
        f' height="{BAR:g}" rx="3"><title>{text(said)}</title></rect>'
    )
    if width < LETTER_ROOM:
        return bar
    middle = x + min(width / 2, 40)
    return bar + f'<text class="letter tp-{span.phase.value}" x="{middle:.1f}" y="{y + 12:g}">{style.letter}</text>'


def marks(frame: Frame) -> Iterator[str]:
    """Yield the marks: a diamond in the row of a member, or above all rows with a line through them."""
    y_of = {row.name: y for row, y in places(frame)}
    for mark in frame.timeline.marks:
        x = frame.x(mark.at)
        y = y_of.get(mark.row, HEAD - 20) + ROW / 2
        if mark.row not in y_of:
            yield (f'<line class="markline" x1="{x:.1f}" x2="{x:.1f}" y1="{y + 6:g}" y2="{frame.bottom:g}"/>')
        yield diamond(mark, x, y)


def diamond(mark: Mark, x: float, y: float) -> str:
    """Return the sign of a mark."""
    path = f"M{x:.1f} {y - 5:g}l5 5-5 5-5-5z"
    return f'<path class="mark" d="{path}"><title>{text(f"{clock(mark.at, seconds=True)} {mark.text}")}</title></path>'


def present(frame: Frame) -> Iterator[str]:
    """Yield the line of the present."""
    if frame.timeline.now is None:
        return
    x = frame.x(frame.timeline.now)
    yield f'<line class="now" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD - 6:g}" y2="{frame.bottom + 4:g}"/>'
    yield f'<text class="nowtext end" x="{min(x + 12, frame.right):.1f}" y="{frame.bottom + 18:g}">now</text>'


def legend_items(timeline: Timeline) -> list[tuple[str, str, str, str]]:
    """Return the phases and band values that occur: class, letter, name, meaning."""
    present_phases = {span.phase for span in timeline.spans}
    found = [(f"p-{p.value}", STYLES[p].letter, p.value, STYLES[p].meaning) for p in Phase if p in present_phases]
    values = {stretch.value for band in timeline.bands for stretch in band.stretches}
    shown = [value for value in BANDS if value in values]
    return found + [(f"b-{value}", BANDS[value].letter, value, BANDS[value].meaning) for value in shown]


def legend(frame: Frame) -> Iterator[str]:
    """Yield the meaning of each letter and colour that occurs."""
    columns = int((WIDTH - 2 * MARGIN) // LEGEND_COLUMN)
    for index, (kind, letter, name, meaning) in enumerate(legend_items(frame.timeline)):
        x = MARGIN + index % columns * LEGEND_COLUMN
        y = frame.bottom + AXIS + 18 + index // columns * LEGEND_LINE
        yield (
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="16" height="14" rx="3"/>'
            f'<text class="letter t{kind}" x="{x + 8:g}" y="{y + 11:g}">{text(letter)}</text>'
            f'<text class="soft" x="{x + 23:g}" y="{y + 11:g}"><tspan font-weight="650">{text(name)}</tspan>'
            f" {text(meaning)}</text>"
        )


def when(begin: float, end: float) -> str:
    """Return a period as text."""
    return f"{clock(begin, seconds=True)} to {clock(end, seconds=True)} ({duration(end - begin)})"


def summary(timeline: Timeline) -> str:
    """Return the picture in sentences, for those who do not see it."""
    members = [row for row in timeline.rows if row.group]
    period = f"From {clock(timeline.begin, date=True)} to {clock(timeline.end, date=True)} UTC"
    said = [f"{period} ({duration(timeline.end - timeline.begin)}), {amount(len(members), 'member')} with a change."]
    for band in timeline.bands:
        spent = totals(timeline, band.name)
        parts = ", ".join(f"{value} {duration(seconds)}" for value, seconds in sorted(spent.items()))
        said.append(f"{band.name.capitalize()}: {parts}.")
    return " ".join(said)


def shortened(name: str) -> str:
    """Return a name that fits the room of the labels: the end says most."""
    return name if len(name) <= 38 else f"…{name[-37:]}"


def text(value: str) -> str:
    """Return a text that is safe in XML: characters that XML does not allow are left out."""
    return escape("".join(c for c in value if c.isprintable() or c == " "), quote=True)
