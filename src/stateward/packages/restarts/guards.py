"""Reasons that delay a possible restart, and until when.

Health is not one of them: the next restart repairs a workload whose pods cannot start because of a ConfigMap, and a
guard that waits for health would keep it broken.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from stateward.api.values.base import GROUP
from stateward.api.values.settling import SETTLE_SECONDS, seconds_left
from stateward.packages.restarts.dependencies import Dependency

ANNOTATION_PAUSED = f"{GROUP}/restart-paused"
"""On a workload: `true` holds restarts until it is removed."""
ANNOTATION_WINDOW = f"{GROUP}/restart-window"
"""On a workload: the time of day, in UTC, in which it may restart, for example `22:00-04:30`."""

MOST_USED = 500
"""Objects, or keys of objects, that a workload under restart control may use."""

LARGEST_RECORD = 240 << 10
"""Bytes of the record of a workload, which is an annotation beside others."""

_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a restart waits, as a reason and a sentence, and the seconds until the next check (None: on an event)."""

    reason: str
    message: str
    seconds: float | None


def too_many(used: int) -> Hold | None:
    """Return why a workload that uses so many objects, or keys of objects, is not followed.

    The disaster this prevents: the operator remembers and reads them all, for each of many workloads of a tenant.
    """
    if used <= MOST_USED:
        return None
    text = f"its pods use {used} ConfigMaps, Secrets or keys, and {MOST_USED} may be used: changes restart nothing"
    return Hold("RestartSourcesTooMany", text, None)


def too_large(record: str) -> str:
    """Return why the record of a workload cannot be written; empty if it can be.

    A server refuses all annotations of an object together if they have more than 256 KiB, and does not say which.
    """
    if len(record) <= LARGEST_RECORD:
        return ""
    return (
        f"the ConfigMaps and Secrets that its pods use have so many keys that their record has {len(record)} bytes, and"
        f" it may have {LARGEST_RECORD}: use single keys, or fewer"
    )


def too_many_objects(used: Iterable[Dependency]) -> str:
    """Return why the data of a workload of a package is not read; empty if it uses few enough objects.

    The disaster this prevents: eight packages of one tenant with workloads that name fifty thousand Secrets each, and
    no installation of any tenant goes on while the operator asks for them.
    """
    objects = len({(found.kind, found.name) for found in used})
    return "" if objects <= MOST_USED else f"its pods use {objects} ConfigMaps and Secrets, and may use {MOST_USED}"


def hold(annotations: Mapping[str, str], now: datetime) -> Hold | None:
    """Return the user's reason to hold a restart at this time."""
    if annotations.get(ANNOTATION_PAUSED, "").strip().lower() == "true":
        return Hold("RestartPaused", f"restarts wait until the annotation {ANNOTATION_PAUSED} is removed", None)
    window = annotations.get(ANNOTATION_WINDOW, "")
    return _outside(window, now) if window else None


def _outside(window: str, now: datetime) -> Hold | None:
    found = _WINDOW.fullmatch(window.strip())
    if found is None:
        text = f"{ANNOTATION_WINDOW}: {window!r}: must be a time of day from and to, in UTC, for example 22:00-04:30"
        return Hold("RestartWindowInvalid", text, None)
    numbers = [int(number) for number in found.groups()]
    moment = now.astimezone(UTC)
    start, end = (moment.replace(hour=h, minute=m, second=0, microsecond=0) for h, m in (numbers[:2], numbers[2:]))
    inside = start <= moment < end if start < end else moment >= start or moment < end
    if inside or start == end:
        return None
    opens = start if start > moment else start + timedelta(days=1)
    text = f"restarts wait for the window {window} (UTC), which opens at {opens:%Y-%m-%d %H:%M} UTC"
    return Hold("RestartOutsideWindow", text, (opens - moment).total_seconds())


@dataclass(frozen=True, slots=True)
class Settling:
    """Changes that were observed and not acted on: their content, the time of the first and of the last one.

    `what` is empty until the changed content has been read.
    """

    what: str
    since: float
    last: float

    def left(self, now: float, settle: float = SETTLE_SECONDS) -> float:
        """Return the seconds until it is time to act; 0 or less when it is."""
        return seconds_left(self.since, self.last, now, settle)


def settling(before: Settling | None, what: str, now: float) -> Settling:
    """Return what is known of changes at time `now` (seconds); `what` differs when another change has come."""
    if before is None:
        return Settling(what, now, now)
    if not before.what:
        return Settling(what, before.since, before.last)
    return before if before.what == what else Settling(what, before.since, now)


def touched(before: Settling | None, now: float) -> Settling:
    """Return what is known of changes when a watch tells of one more at time `now` (seconds)."""
    return Settling(before.what if before else "", before.since if before else now, now)
