"""Statuses without times ahead of the clock: what was stored by a clock that was ahead counts as when it is read.

The next write of the status stores that, so a wait begins again once, and not in each process.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast, get_args

import msgspec
from msgspec import Struct

from stateward.planning.model.past_times import Past
from stateward.planning.model.times import parse_time, rfc3339

S = TypeVar("S", bound=Struct)

COMING = "tells when something comes, or ends"
DATABASE = "is the database's, and is read from it again"
LEFT: Mapping[str, str] = {
    "SecurityStatus.ca_expiration_time": COMING,
    "SecurityStatus.certificates_expiration_time": COMING,
    "SecurityStatus.renewal_time": COMING,
    "DiskStatus.full_time": COMING,
    "SearchSnapshotScheduleStatus.next_schedule_time": COMING,
    "VerificationStatus.next_schedule_time": COMING,
    "SearchUserStatus.rotation_time": COMING,
    "UserStatus.retirement_time": COMING,
    "ScheduledSnapshot.start_time": DATABASE,
    "ScheduledSnapshot.end_time": DATABASE,
    "SearchSnapshotStatus.start_time": DATABASE,
    "SearchSnapshotStatus.end_time": DATABASE,
    "SearchRestoreStatus.snapshot_time": DATABASE,
    "DiskSample.time": "a sample of a later time is dropped with the next one",
}
"""Times of statuses that may be ahead, by record and field, with the reason."""


def with_past_times(status: S, past: Past) -> S:
    """Return a status whose times of the past are not ahead; the same object if none is."""
    times, parts = fields_of(type(status))
    found: dict[str, Any] = {}
    for name in times:
        when = parse_time(getattr(status, name))
        if when is not None and (earlier := past(when)) != when:
            found[name] = rfc3339(earlier)
    for name in parts:
        before = getattr(status, name)
        after = part_with_past_times(before, past)
        if after is not before:
            found[name] = after
    return msgspec.structs.replace(status, **found) if found else status


def part_with_past_times(part: Any, past: Past) -> Any:
    """Return the value of a field; the same object if no time in it is ahead."""
    if isinstance(part, Struct):
        return with_past_times(part, past)
    if not isinstance(part, list):
        return part
    items = cast("list[Any]", part)
    made = [part_with_past_times(each, past) for each in items]
    return items if all(a is b for a, b in zip(items, made, strict=True)) else made


@cache
def fields_of(kind: type[Struct]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the times in a record that are of the past, and of the fields with records in them."""
    fields = msgspec.structs.fields(kind)
    times = (f.name for f in fields if is_time(f.name, f.type) and f"{kind.__name__}.{f.name}" not in LEFT)
    return tuple(times), tuple(f.name for f in fields if records_in(f.type))


def is_time(name: str, kind: Any) -> bool:
    """Return whether a field is a time."""
    return (name == "time" or name.endswith("_time")) and not records_in(kind)


def records_in(kind: Any) -> list[type[Struct]]:
    """Return the types of records that a field of this type may have in it."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return [kind]
    return [found for each in get_args(kind) for found in records_in(each)]
