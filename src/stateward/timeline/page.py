"""The timeline as one HTML page: the picture, and below it everything that it shows as a table."""

from stateward.timeline.model import Timeline
from stateward.timeline.phases import STYLES, band_style
from stateward.timeline.svg import FONT, summary, svg, text
from stateward.timeline.times import clock, duration

STYLE = (
    ":root{color-scheme:light dark}"
    f"body{{margin:0;padding:24px;font:14px/1.5 {FONT};background:#eef1f5;color:#1c2430}}"
    "main{max-width:1200px;margin:auto}svg{box-shadow:0 1px 3px rgba(0,0,0,.12);border-radius:14px}"
    "h1{position:absolute;left:-9999px}h2{font-size:16px;margin:28px 0 8px}p{color:#5b6676}"
    "table{border-collapse:collapse;width:100%;font-size:13px}"
    "th,td{text-align:left;padding:5px 14px 5px 0;border-bottom:1px solid #d8dde4;vertical-align:top}"
    "td.time,td.length{white-space:nowrap;font-variant-numeric:tabular-nums}"
    "@media(prefers-color-scheme:dark){body{background:#0b0f14;color:#e6ebf2}p{color:#93a0b1}"
    "th,td{border-color:#262f3a}}"
)


def page(timeline: Timeline) -> str:
    """Return a page that needs nothing else: no script, no font, no other file."""
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Timeline of {text(timeline.title)}</title>\n<style>{STYLE}</style>\n</head>\n"
    )
    body = f"<h1>Timeline of {text(timeline.title)}</h1>\n{svg(timeline)}<p>{text(summary(timeline))}</p>\n"
    return f"{head}<body>\n<main>\n{body}{table(timeline)}</main>\n</body>\n</html>\n"


def table(timeline: Timeline) -> str:
    """Return all that the picture shows, in order of time."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in ("Begin", "Duration", "Subject", "Phase", "Reason"))
    body = "\n".join(_row(*each) for each in sorted(events(timeline)))
    return (
        f"<h2>All phases and events</h2>\n<table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n"
    )


def events(timeline: Timeline) -> list[tuple[float, str, str, str, str]]:
    """Return begin, duration, subject, phase and reason of everything in the picture."""

    def length(begin: float, end: float | None) -> str:
        return "lasts" if end is None else duration(end - begin)

    found = [(s.begin, length(s.begin, s.end), s.row, s.phase.value, s.text) for s in timeline.spans]
    found += [
        (s.begin, length(s.begin, s.end), band.name, s.value, band_style(s.value).meaning)
        for band in timeline.bands
        for s in band.stretches
    ]
    return found + [(m.at, "", m.row or timeline.title, "event", m.text) for m in timeline.marks]


def _row(begin: float, length: str, subject: str, phase: str, why: str) -> str:
    letter = next((style.letter for name, style in STYLES.items() if name.value == phase), "")
    shown = f"{phase} ({letter})" if letter else phase
    times = f'<td class="time">{clock(begin, seconds=True, date=True)}</td><td class="length">{text(length)}</td>'
    return f"<tr>{times}<td>{text(subject)}</td><td>{text(shown)}</td><td>{text(why)}</td></tr>"
