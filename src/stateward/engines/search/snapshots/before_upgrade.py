"""Whether the database has a snapshot of itself that is complete: what an upgrade may need before it begins."""

from collections.abc import Iterable
from dataclasses import dataclass

from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.kinds.snapshots.snapshot import SearchSnapshot
from stateward.api.values.problem import first_of
from stateward.engines.search.database.session import Session
from stateward.engines.search.snapshots import decision, schedule
from stateward.engines.search.snapshots.records import SUCCESS, Resolved, Settings, Snapshot
from stateward.engines.search.snapshots.requests import all_indices, one_snapshot, settings_of
from stateward.planning.model.past_times import AHEAD
from stateward.planning.model.snapshots import Saved

MOST = 10
"""Snapshots that are looked at, the newest first."""


@dataclass(frozen=True)
class Candidate:
    """A snapshot that a resource reports as successful, and the notes that prove whose it is."""

    name: str
    time: str
    marks: dict[str, str]


def candidates(
    taken: Iterable[SearchSnapshot], schedules: Iterable[SearchSnapshotSchedule], database: str
) -> list[Candidate]:
    """Return what resources of one cluster and one repository report of a database, the newest first.

    A snapshot of another database, perhaps of a cluster of the same name that is gone, saves nothing of this one.
    """
    found = [
        Candidate(each.status.snapshot, each.status.start_time, decision.marks(_owner(each), each.metadata.uid))
        for each in taken
        if each.status.state == SUCCESS and each.status.cluster_uuid == database
    ]
    for each in schedules:
        last = each.status.last_success
        if last is not None and each.status.cluster_uuid == database:
            found.append(Candidate(last.name, last.start_time, schedule.marks(_owner(each), database)))
    return sorted(found, key=lambda each: each.time, reverse=True)[:MOST]


def _owner(found: SearchSnapshot | SearchSnapshotSchedule) -> str:
    return f"{found.metadata.namespace}/{found.metadata.name}"


async def newest_complete(session: Session, repository: str, known: Iterable[Candidate], now: float) -> Saved:
    """Return the newest of these snapshots that the repository has and that has all indices; raises EngineError.

    One that is dated later than `now`, in seconds since the epoch, was dated by a wrong clock: its age is unknown.
    """
    why, there = "", await all_indices(session)
    for each in known:
        found = await one_snapshot(session, repository, each.name)
        if found is None or found.state != SUCCESS or not found.marked(each.marks):
            continue
        if found.start_time_in_millis / 1000 > now + AHEAD:
            why = why or f"{found.snapshot} is dated in the future, so its age is not known"
            continue
        lacks = absent(found, there, await settings_of(session, _unsaved(found, there)))
        if not lacks:
            return Saved(found.snapshot, found.start_time_in_millis / 1000, why)
        why = why or f"{found.snapshot} does not have {first_of(lacks)}"
    return Saved(why=why)


def _unsaved(found: Snapshot, there: Resolved) -> list[str]:
    """Return the indices that are not in a snapshot; of a data stream that is not in it, the oldest one."""
    saved = {*found.indices, *found.data_streams}
    own = [each.name for each in there.indices if not each.name.startswith(".") and each.name not in saved]
    streams = (each for each in there.data_streams if not each.name.startswith(".") and each.name not in saved)
    return own + [each.backing[0] for each in streams if each.backing]


def absent(found: Snapshot, there: Resolved, settings: dict[str, Settings]) -> list[str]:
    """Return the indices that a snapshot should have, because they are older than it or of unknown age."""

    def is_older(name: str) -> bool:
        created = settings[name].created if name in settings else ""
        return not created.isdecimal() or int(created) <= found.start_time_in_millis

    return [name for name in _unsaved(found, there) if is_older(name)]
