"""Spans of time as Kubernetes writes them (`90s`, `30m`, `1h30m`), and times as the operator stores them."""

import re

DURATION = r"^([0-9]{1,6}h([0-9]{1,6}m)?([0-9]{1,8}s)?|[0-9]{1,6}m([0-9]{1,8}s)?|[0-9]{1,8}s)$"
SPAN = {"accepts": "must be a span of time, for example 90s, 30m or 1h30m"}
"""The message for a refused value."""
LONGEST_TIME = 11
"""Digits of a stored time: enough for the next thousands of years."""
_PARTS = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", re.ASCII)


class DurationError(ValueError):
    """A text that is not a span of time."""


def parse_duration(text: str) -> float:
    """Return a span of time in seconds; raise `DurationError` for an invalid one."""
    match = _PARTS.fullmatch(text)
    if match is None or not text:
        raise DurationError(f"{text[:40]!r} is not a span of time such as 90s, 30m or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(hours * 3600 + minutes * 60 + seconds)


def stored_time(text: str) -> float | None:
    """Return a stored time, in seconds since the epoch; None for anything else: users may have edited it."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_TIME else None
