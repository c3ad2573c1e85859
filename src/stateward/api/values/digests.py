"""The record of data that pods use, and the comparison of two such records.

Digests are by `Kind/name:key`. They are made with a secret key, whose name may precede them with a slash: digests with
different keys cannot be compared, so the loss of a key is no change. Nor is a key or an object that appears or
disappears: only if all keys of an object are used, and the object exists before and after, an additional or missing key
counts.
"""

from collections.abc import Mapping

THERE = "+"
"""Recorded for an object (with an empty key) all of whose keys are used: it exists, and has no others."""
OUT = "-"
"""Recorded for a key, or a whole object, that an annotation takes out."""


def differs(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Return whether the data behind a name has changed."""
    was, now = before.get(name), after.get(name)
    if was == now or OUT in (was, now):
        return False
    if was is not None and now is not None:
        return comparable(was, now)
    home = f"{name.partition(':')[0]}:"
    return before.get(home) == after.get(home) == THERE


def comparable(one: str, other: str) -> bool:
    """Return whether two digests were made with the same key."""
    return one.rpartition("/")[0] == other.rpartition("/")[0]
