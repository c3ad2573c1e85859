"""Times as Kubernetes writes them: RFC 3339 in UTC with seconds."""

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Return a time in seconds since the epoch as Kubernetes writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float | None:
    """Return an RFC 3339 time as seconds since the epoch; None if it is empty or not a time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
