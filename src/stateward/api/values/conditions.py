"""Conditions of a status as kstatus reads them; times come from the caller, as RFC 3339 in UTC."""

from collections.abc import Sequence

from msgspec.structs import replace

from stateward.api.values.base import Condition


def condition(kind: str, holds: bool, reason: str, message: str) -> Condition:
    """Return a condition that holds or does not hold."""
    return Condition(type=kind, status="True" if holds else "False", reason=reason, message=message)


def dated(made: Sequence[Condition], before: Sequence[Condition], generation: int, now: str) -> list[Condition]:
    """Return new conditions with their generation and times; one whose status is unchanged keeps its time."""
    since = {old.type: (old.status, old.last_transition_time) for old in before}
    return [
        replace(
            each,
            observed_generation=generation,
            last_transition_time=since[each.type][1] if since.get(each.type, ("",))[0] == each.status else now,
        )
        for each in made
    ]
