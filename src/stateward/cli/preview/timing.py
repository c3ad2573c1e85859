"""The duration of each step of a preview: from its start until its effect is complete."""

from collections.abc import Iterable

from stateward.forecast.forecast import Forecast

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
"""The event that ends a step."""


def seconds_of(does: str, members: Iterable[str], at: float, forecast: Forecast) -> float | None:
    """Return the duration of a step that starts at `at` seconds; None if it does not end.

    A recreated or restarted member is complete when its copies have recovered.
    """
    began, what = forecast.began + at, ENDS.get(does, "")
    ends = [ended(forecast, what, "" if what == "whole" else member, began) for member in members]
    known = [end for end in ends if end is not None]
    if not ends or len(known) < len(ends):
        return 0.0 if does == "delete the volume of" else None
    end = max(known)
    if does in ("recreate", "restart the process of"):
        end = ended(forecast, "whole", "", end) or end
    return end - began


def ended(forecast: Forecast, what: str, member: str, after: float) -> float | None:
    """Return the first time after `after` at which something ended; None if it never did."""
    return next((h.at for h in forecast.log if (h.what, h.member) == (what, member) and h.at >= after), None)
