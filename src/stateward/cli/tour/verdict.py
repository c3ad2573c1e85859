"""The last line of the tour: what the clients of the database have experienced."""

from collections.abc import Sequence

from msgspec import Struct

from stateward.cli.tour.player import Frame


class Verdict(Struct, frozen=True):
    """The result in one sentence; `good` if no document is lost, the goal is reached, and nothing failed."""

    text: str
    good: bool


def verdict(frame: Frame, failures: Sequence[str] = ()) -> Verdict:
    """Return the result at a frame; `failures` are errors of the operator."""
    writes, lost = frame.writes, frame.writes.acknowledged - frame.writes.found
    found = "all found again" if not lost else f"{lost:,} of them lost"
    text = (
        f"{writes.acknowledged:,} documents acknowledged, {found}; {writes.red:.0f} s in red health;"
        f" longest time without a write to some part of the data: {writes.longest:.0f} s"
    )
    if not frame.settled:
        text += "; the tour was left before the cluster had its desired state"
    if failures:
        text += f"; the operator failed: {failures[0]}"
    return Verdict(text, good=not lost and frame.settled and not failures)
