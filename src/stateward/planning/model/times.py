"""Times as Kubernetes writes them: RFC 3339 in UTC with seconds."""

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Return a time in seconds since the epoch as Kubernetes writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float | None:
    """Return an RFC 3339 time as seconds since the epoch; None for any other text, and for a time without a zone.

    What it returns can be written again (`rfc3339`). The disaster this prevents: someone writes a time of the year 0
    into a status, and no round of the cluster ends.
    """
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).replace(microsecond=0).timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
