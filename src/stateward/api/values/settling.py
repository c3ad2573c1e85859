"""When changes of data have settled: several that come together are one restart, and a stream is not waited out."""

SETTLE_SECONDS = 5.0
"""For how long nothing more may change before pods restart."""
LONGEST_SETTLE_SECONDS = 60.0
"""How long a stream of changes may put a restart off."""


def seconds_left(since: float, last: float, now: float, settle: float = SETTLE_SECONDS) -> float:
    """Return the seconds until it is time to act on changes that began at `since`; 0 or less when it is."""
    return min(last + settle, since + max(settle, LONGEST_SETTLE_SECONDS)) - now
