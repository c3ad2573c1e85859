"""How long each step of a preview takes: from its beginning until what it is about has come to its end."""

from collections.abc import Iterable

from stateward.simulation.forecast.journey import Journey

ENDS = {
    "create": "joined",
    "form the cluster on": "joined",
    "recreate": "joined",
    "restart the process of": "joined",
    "grow the volume of": "grown",
    "let go": "gone",
    "move the data away from": "emptied",
    "move single copies away from": "whole",
}
"""What ends a step."""


def seconds_of(does: str, members: Iterable[str], at: float, journey: Journey) -> float | None:
    """Return how long a step takes that begins `at` seconds after the beginning; None where it has no end.

    A member that is made anew, or whose process is restarted, is through when the copies on it have recovered.
    """
    began, what = journey.began + at, ENDS.get(does, "")
    ends = [ended(journey, what, "" if what == "whole" else member, began) for member in members]
    known = [end for end in ends if end is not None]
    if not ends or len(known) < len(ends):
        return 0.0 if does == "delete the volume of" else None
    end = max(known)
    if does in ("recreate", "restart the process of"):
        end = ended(journey, "whole", "", end) or end
    return end - began


def ended(journey: Journey, what: str, member: str, after: float) -> float | None:
    """Return when something came to its end first after a time; None where it never did."""
    return next((h.at for h in journey.log if (h.what, h.member) == (what, member) and h.at >= after), None)
