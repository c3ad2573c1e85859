"""Times on the axis of a timeline, and durations in its texts. Times are in UTC."""

from datetime import UTC, datetime

STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
"""Seconds between two ticks."""


def tick_times(begin: float, end: float, most: int) -> list[float]:
    """Return round times between begin and end, at most `most` of them."""
    length = end - begin
    step = next((s for s in STEPS if length / s <= most), STEPS[-1] * max(1, round(length / STEPS[-1] / most + 0.5)))
    first = -(-begin // step) * step
    count = int((end - first) // step) + 1
    return [first + index * step for index in range(max(0, count))]


def clock(at: float, *, seconds: bool = False, date: bool = False) -> str:
    """Return the time of the day, with seconds or with the date if asked."""
    form = ("%Y-%m-%d " if date else "") + ("%H:%M:%S" if seconds else "%H:%M")
    return datetime.fromtimestamp(at, UTC).strftime(form)


def duration(seconds: float) -> str:
    """Return a duration in its two largest units: 45 s, 12 min 5 s, 3 h 5 min, 2 d 4 h."""
    whole = max(0, round(seconds))
    parts = ((whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s"))
    known = [index for index, (number, _) in enumerate(parts) if number]
    first = known[0] if known else 3
    shown = [(number, unit) for number, unit in parts[first : first + 2] if number or not known]
    return " ".join(f"{number} {unit}" for number, unit in shown)
