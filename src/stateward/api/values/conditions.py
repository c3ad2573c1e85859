"""Conditions of a status as kstatus reads them, and its sentences; times come from the caller, as RFC 3339 in UTC.

Sentences contain names, answers of databases and texts of other programs. Values that programs compare, such as names,
settings and identities, are no sentences, and stay exact.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stateward.api.values.base import Condition
from stateward.api.values.problem import printable

S = TypeVar("S", bound=Struct)

SENTENCES = frozenset({"activity", "message", "reason", "missing_reason", "stalled_message", "description", "drift"})
"""Fields of statuses with sentences, or with words of the operator's own."""


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


def readable(status: S) -> S:
    """Return a status whose sentences have only printable characters; the same status if they have no others.

    A sentence must not hide other text, or make the terminal of its reader obey.
    """
    return status if _is_plain(status) else cast("S", _readable(status))


def _is_plain(status: Struct) -> bool:
    """Return whether no text of a status needs an escape: most have none, and are as large as their cluster."""
    try:
        text = msgspec.json.encode(status).decode()
    except UnicodeEncodeError:
        return False
    return text.isprintable() and "\\" not in text


def _readable(value: Any, name: str = "") -> Any:
    match value:
        case str():
            return printable(value) if name in SENTENCES else value
        case Struct():
            fields = {field: getattr(value, field) for field in value.__struct_fields__}
            made = {field: _readable(found, field) for field, found in fields.items()}
            return replace(value, **{field: made[field] for field in made if made[field] is not fields[field]})
        case list():
            return [_readable(each) for each in cast("list[Any]", value)]
        case tuple():
            return tuple(_readable(each) for each in cast("tuple[Any, ...]", value))
        case _:
            return value
