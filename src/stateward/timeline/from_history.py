"""The picture of a cluster's history."""

from collections.abc import Iterator

from stateward.timeline.history import Entry, History, Kind
from stateward.timeline.model import Band, Mark, Row, Span, Stretch, Timeline
from stateward.timeline.phases import Phase, phase_of

QUIET_SECONDS = 1800.0
"""Seconds without any phase after which the next one belongs to another piece of work."""
MOST_DIGITS = 20
"""Digits of a number in a name."""
BANDS = (("health", Kind.HEALTH), ("writes", Kind.WRITES))


def timeline_of(history: History, title: str, now: float, *, subtitle: str = "") -> Timeline:
    """Return the timeline of a history until `now`; rows are the cluster itself, then members by pool and name."""
    entries = (*history.ended, *history.lasting)
    begins = [e.begin for e in entries if e.kind in (Kind.MEMBER, Kind.WAIT, Kind.EVENT)]
    begin = float(max(min([*begins, int(now)]), history.begin)) if history.begin else now
    return Timeline(
        title=title,
        begin=begin,
        end=max(now, begin + 1),
        rows=(Row(title), *member_rows(entries)),
        spans=tuple(span(entry, title) for entry in entries if entry.kind in (Kind.MEMBER, Kind.WAIT)),
        bands=tuple(Band(name, tuple(stretches(entries, kind))) for name, kind in BANDS),
        marks=tuple(marks(entries)),
        now=now,
        subtitle=subtitle,
    )


def latest_work(timeline: Timeline) -> float:
    """Return when the latest piece of work began: phases that follow each other within half an hour."""
    begin = timeline.end
    for number, span in enumerate(sorted(timeline.spans, key=lambda each: -(each.end or timeline.end))):
        end = timeline.end if span.end is None else span.end
        if number and begin - end > QUIET_SECONDS:
            break
        begin = min(begin, span.begin)
    return begin


def member_rows(entries: tuple[Entry, ...]) -> list[Row]:
    """Return a row for each member with a phase, in the order of pools and names."""
    pools = {entry.subject: entry.pool for entry in entries if entry.kind is Kind.MEMBER}
    return [Row(name, pool) for name, pool in sorted(pools.items(), key=lambda each: (each[1], *natural(each[0])))]


def natural(name: str) -> tuple[str, int]:
    """Return what sorts hot-10 after hot-9."""
    head, _, tail = name.rpartition("-")
    return (head, int(tail)) if tail.isascii() and tail.isdigit() and len(tail) < MOST_DIGITS else (name, 0)


def span(entry: Entry, cluster: str) -> Span:
    """Return the span of a phase, or of a wait of a pool or the cluster, which is drawn in the cluster's row."""
    end = float(entry.end) if entry.end else None
    if entry.kind is Kind.MEMBER:
        return Span(entry.subject, phase_of(entry.what), entry.begin, end, entry.why)
    phase = Phase.STALLED if entry.what == Phase.STALLED else Phase.WAIT
    about = f"{entry.subject}: " if entry.subject != cluster else ""
    return Span(cluster, phase, entry.begin, end, f"{about}{entry.what}: {entry.why}")


def stretches(entries: tuple[Entry, ...], kind: Kind) -> list[Stretch]:
    """Return the values of a band in order."""
    mine = sorted((e for e in entries if e.kind is kind), key=lambda e: e.begin)
    return [Stretch(e.what, e.begin, float(e.end) if e.end else None) for e in mine]


def marks(entries: tuple[Entry, ...]) -> Iterator[Mark]:
    """Yield the marks of events and removals in order of their times; at one time an event comes first."""
    mine = (entry for entry in entries if entry.kind in (Kind.EVENT, Kind.REMOVAL))
    for entry in sorted(mine, key=lambda e: (e.begin, e.kind is Kind.REMOVAL)):
        yield mark(entry)


def mark(entry: Entry) -> Mark:
    """Return the mark of an event, or of the begin of a removal."""
    if entry.kind is Kind.EVENT:
        return Mark(entry.begin, entry.why)
    return Mark(entry.begin, f"{entry.subject} is to leave: {entry.why}", entry.subject)
