"""Times that lie ahead of the clock, although what they tell of has happened: each counts as when it was first read.

An operator whose clock was ahead, or an API server's or a database's, has stored them. The disaster this prevents: what
counts from such a time waits until the clock has come there, perhaps for years. Now each wait begins again at most
once in a process, and ends after its usual length.
"""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from stateward.planning.model.database import Copy, Database, Unit
from stateward.planning.model.member import Member
from stateward.planning.model.observation import Observation

AHEAD = 120.0
"""Seconds by which a time may be ahead and counts as it is: each of two operators may have a clock that is a minute
wrong (`kube.timing.checked_clock`).
"""
MOST = 100_000
"""Times that are remembered, some megabytes; the oldest ones are forgotten."""
Past = Callable[[float], float]
"""Returns as what a time of the past counts; both in seconds since the epoch."""


class PastTimes:
    """Remembers when each time that was ahead was first read. It needs no names: the same second has the same wait."""

    def __init__(self) -> None:
        self._read: dict[float, float] = {}

    def at(self, now: float) -> Past:
        """Return as what times count at `now`, in seconds since the epoch."""
        return lambda when: self._of(when, now)

    def _of(self, when: float, now: float) -> float:
        known = self._read.get(when, when)
        if known <= now + AHEAD:
            return known
        while len(self._read) >= MOST:
            del self._read[next(iter(self._read))]
        self._read[when] = now
        return now


def with_past_times(observed: Observation, past: Past) -> Observation:
    """Return an observation whose objects and database have no time ahead; that of the status has none (`report`)."""
    database = observed.database
    return replace(
        observed,
        members=tuple(member_before(member, past) for member in observed.members),
        orphans=tuple(replace(orphan, created=past(orphan.created)) for orphan in observed.orphans),
        database=replace(database, units=units_before(database.units, past))
        if isinstance(database, Database)
        else database,
    )


def member_before(member: Member, past: Past) -> Member:
    """Return a member whose pod and claim have no time ahead, but for the end of a grace period."""
    pod, claim = member.pod, member.claim
    if pod is not None:
        # Its deletion was requested when the grace period began.
        gone_by = past(pod.gone_by - pod.grace) + pod.grace
        created, ended = past(pod.created), past(pod.ended)
        if (created, gone_by, ended) != (pod.created, pod.gone_by, pod.ended):
            pod = replace(pod, created=created, gone_by=gone_by, ended=ended)
    if claim is not None and claim.resized is not None and (resized := past(claim.resized)) != claim.resized:
        claim = replace(claim, resized=resized)
    return member if (pod, claim) is (member.pod, member.claim) else replace(member, pod=pod, claim=claim)


def units_before(units: Iterable[Unit], past: Past) -> tuple[Unit, ...]:
    """Return units whose copies are not missing since a time ahead."""
    return tuple(
        replace(unit, copies=tuple(copy_before(copy, past) for copy in unit.copies))
        if any(copy.since and past(copy.since) != copy.since for copy in unit.copies)
        else unit
        for unit in units
    )


def copy_before(copy: Copy, past: Past) -> Copy:
    """Return a copy that is not missing since a time ahead."""
    return replace(copy, since=past(copy.since))
