"""Long lists in sentences."""

from collections.abc import Sequence

MOST = 10
"""Texts that a sentence has where nothing else is said."""


def first_of(texts: Sequence[str], most: int = MOST, between: str = ", ") -> str:
    """Return the first `most` texts as one, and how many more there are: `a, b and 3 more`."""
    more = len(texts) - most
    return between.join(texts[:most]) + (f" and {more} more" if more > 0 else "")
