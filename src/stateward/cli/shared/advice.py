"""What ends a wait, and what the user can do: its shape, and its lines. The tables are in the rooms of the commands."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """What ends a wait, and what the user can do; the latter is empty if waiting is enough."""

    ends: str
    do: str = ""


UNKNOWN = Advice("the operator finds that the reason no longer applies; it checks again by itself")
"""For an unknown reason: the operator may be newer than this program."""


def told(known: Advice) -> Iterator[str]:
    """Yield an advice as two lines; one if waiting is enough."""
    yield f"  It continues when {known.ends}."
    if known.do:
        yield f"  What to do: {known.do}."
