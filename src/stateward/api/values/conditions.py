"""Conditions of a status as kstatus reads them; times come from the caller, as RFC 3339 in UTC."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from stateward.api.values.base import Condition


def condition(kind: str, status: bool | None, reason: str, message: str = "") -> Condition:
    """Return a condition that holds, does not hold, or is not known (None)."""
    text = "Unknown" if status is None else str(status)
    return Condition(type=kind, status=text, reason=reason, message=message)


def stalled(conditions: Iterable[Condition]) -> Condition | None:
    """Return the condition that says that manual intervention is required; None if it is not."""
    return next((each for each in conditions if each.type == "Stalled" and each.status == "True"), None)


def dated(made: Iterable[Condition], before: Sequence[Condition], generation: int, now: str) -> list[Condition]:
    """Return new conditions with their generation and times; one whose status is unchanged keeps its time."""
    since = {(old.type, old.status): old.last_transition_time for old in before}
    return [
        replace(each, observed_generation=generation, last_transition_time=since.get((each.type, each.status)) or now)
        for each in made
    ]
