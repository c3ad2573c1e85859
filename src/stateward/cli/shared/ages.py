"""Ages and durations in the short format of kubectl."""

from datetime import datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def duration(seconds: float) -> str:
    """Return a duration in its one or two largest units: 45s, 12m, 3h05m, 6d."""
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 2 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02}m"
    return f"{whole // _DAY}d"


def about(seconds: float | None) -> str:
    """Return an estimate with two digits: 8 s, 50 s, 12 min, 1 h 20 min; empty if it is not known."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{max(1, round(seconds, -1) if seconds >= 20 else round(seconds)):.0f} s"
    minutes = round(seconds / _MINUTE)
    hours, rest = divmod(minutes if minutes < 100 else 10 * round(minutes / 10), 60)
    return " ".join(part for part in (f"{hours} h" if hours else "", f"{rest} min" if rest else "") if part)


def left(until: str, now: float) -> str:
    """Return how long it is until an RFC 3339 time; empty if there is none."""
    try:
        return duration(datetime.fromisoformat(until).timestamp() - now)
    except ValueError:
        return ""


def age(since: str | None, now: float) -> str:
    """Return the age of an RFC 3339 time; empty if there is none."""
    try:
        return duration(now - datetime.fromisoformat(since or "").timestamp())
    except ValueError:
        return ""
