"""How long ago, as short as kubectl says it."""

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


def age(since: str | None, now: float) -> str:
    """Return how long ago an RFC 3339 time was; empty when there is none."""
    try:
        return duration(now - datetime.fromisoformat(since or "").timestamp())
    except ValueError:
        return ""
