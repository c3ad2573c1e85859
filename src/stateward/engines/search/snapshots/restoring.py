"""What to do about a restore, phase by phase. Pure.

Each phase is in the status before its first request. An index is closed only in the phase for it, and never again: once
the restore may have been started, an open index has data that exists nowhere else. The database starts a restore
for all indices or for none, and refuses it over an open index; over a closed one it is started only if that has the
history from before. So it cannot happen twice.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from stateward.api.kinds.snapshots.restore import (
    ExistingIndices,
    RestoredIndex,
    RestorePhase,
    SearchRestoreSpec,
    SearchRestoreStatus,
)
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem, first_of
from stateward.engines.search.declared.decision import Decision, Do
from stateward.engines.search.declared.writes import Request
from stateward.engines.search.snapshots.decision import time_of
from stateward.engines.search.snapshots.records import (
    IN_PROGRESS,
    PARTIAL,
    SUCCESS,
    Recovery,
    Resolved,
    Settings,
    ShardRow,
    Snapshot,
)
from stateward.engines.search.snapshots.selection import SelectionError, pattern_problems, selected
from stateward.planning.model.times import parse_time

_FAILED = "ALLOCATION_FAILED"
"""Why a primary has no node once the database has given its restore up."""


@dataclass(frozen=True)
class Stored:
    """The indices of the database by name, whether they are open, and by data stream those that belong to it."""

    open: Mapping[str, bool]
    aliases: frozenset[str]
    streams: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, found: Resolved) -> "Stored":
        """Return them from an answer of the database."""
        return cls(
            {each.name: "closed" not in each.attributes for each in found.indices},
            frozenset(each.name for each in found.aliases),
            {each.name: each.backing for each in found.data_streams},
        )

    def parts(self, each: RestoredIndex) -> tuple[str, ...]:
        """Return the indices that a restored one consists of; empty if it is not there."""
        if each.data_stream:
            return self.streams.get(each.name, ())
        return (each.name,) if each.name in self.open else ()

    def all_parts(self, wanted: Iterable[RestoredIndex]) -> list[str]:
        """Return the indices of several."""
        return [name for each in wanted for name in self.parts(each)]


def problems(spec: SearchRestoreSpec) -> Iterator[Problem]:
    """Yield what is wrong with a spec, besides its shape."""
    yield from pattern_problems(spec.indices)


def unusable(found: Snapshot | None, name: str) -> Decision | None:
    """Return why nothing can be restored from a snapshot; None if it can."""
    if found is None:
        return Decision(Do.STOP, "SnapshotMissing", f"the repository has no snapshot {name}")
    if found.state == IN_PROGRESS:
        return Decision(Do.WAIT, "SnapshotInProgress", f"the snapshot {name} is still being taken")
    if found.state not in (SUCCESS, PARTIAL):
        return Decision(Do.STOP, "SnapshotFailed", f"the snapshot {name} is {found.state}")
    return None


def planned(spec: SearchRestoreSpec, found: Snapshot, stored: Stored) -> list[RestoredIndex] | Decision:
    """Return what is restored, with what is replaced by it, or why nothing is."""
    try:
        wanted = selected(spec, found)
    except SelectionError as error:
        return Decision(Do.STOP, "InvalidSpec", str(error))
    taken = [each.name for each in wanted if _barred(each, stored)]
    if taken:
        message = f"there are aliases or data streams of these names: {first_of(taken)}; delete or rename them"
        return Decision(Do.STOP, "NameTaken", message)
    there = [each.name for each in wanted if each.name in stored.open]
    if there and spec.existing is ExistingIndices.REFUSE:
        message = (
            f"there are indices of these names: {first_of(there)}; rename the restored ones with renamePattern, or make"
            " another SearchRestore with existing: Replace, which closes them and loses their data"
        )
        return Decision(Do.STOP, "IndicesExist", message)
    return [
        replace(each, replaced=each.name in stored.open, closed=stored.open.get(each.name, False)) for each in wanted
    ]


def _barred(each: RestoredIndex, stored: Stored) -> bool:
    if each.name in stored.aliases or each.name in stored.streams:
        return True
    return each.data_stream and each.name in stored.open


def claim(found: Snapshot, wanted: list[RestoredIndex], database: str, now: str) -> SearchRestoreStatus:
    """Return the status with which a restore begins."""
    closing = any(each.replaced for each in wanted)
    return SearchRestoreStatus(
        phase=RestorePhase.CLOSING if closing else RestorePhase.STARTING,
        cluster_uuid=database,
        snapshot=found.snapshot,
        snapshot_uuid=found.uuid,
        snapshot_time=time_of(found.end_time_in_millis),
        start_time=now,
        indices=wanted,
    )


def to_close(status: SearchRestoreStatus, stored: Stored) -> list[str]:
    """Return the indices that are to be replaced and are still open."""
    return [each.name for each in status.indices if each.closed and stored.open.get(each.name)]


def with_histories(status: SearchRestoreStatus, settings: Mapping[str, Settings]) -> SearchRestoreStatus:
    """Return the status of a restore that may start: with the histories of the indices that it replaces."""
    indices = [
        replace(each, history=settings[each.name].history)
        if each.name in settings
        else replace(each, replaced=False, closed=False)
        for each in status.indices
    ]
    return replace(status, phase=RestorePhase.STARTING, indices=indices)


def without_gone(status: SearchRestoreStatus, stored: Stored) -> SearchRestoreStatus:
    """Return the status of a restore that was not started, which replaces no index that is gone."""

    def left(each: RestoredIndex) -> RestoredIndex:
        gone = each.replaced and not stored.parts(each)
        return replace(each, replaced=False, closed=False, history="") if gone else each

    return replace(status, indices=[left(each) for each in status.indices])


def opened(status: SearchRestoreStatus, stored: Stored) -> list[RestoredIndex]:
    """Return the restored indices that are there and open: the restore was started, or another client made them."""
    return [each for each in status.indices if any(stored.open.get(name) for name in stored.parts(each))]


Remembered = Mapping[str, Sequence[Recovery]]
"""By index, the restores of its shards that nodes remember."""


def foreign(
    found: Iterable[RestoredIndex], stored: Stored, settings: Mapping[str, Settings], ended: float
) -> list[str]:
    """Return the names of indices that do not come from a snapshot that `ended` in milliseconds since the epoch.

    A restored index has the time of creation of the saved one, which is before the end of the snapshot; an index that
    another client has made since has a later one. An index that is replaced gets another history. A restored data
    stream may have got another index by a rollover.
    """
    return [
        each.name
        for each in found
        if not any(_from_snapshot(each, settings.get(name), ended) for name in stored.parts(each))
    ]


def ended_by(status: SearchRestoreStatus) -> float:
    """Return by when the snapshot had ended, in milliseconds since the epoch; infinity if that is not known."""
    seconds = parse_time(status.snapshot_time)
    return math.inf if seconds is None else (seconds + 1) * 1000  # The status has whole seconds.


def untouched(found: Iterable[RestoredIndex], settings: Mapping[str, Settings]) -> list[str]:
    """Return the names of indices that were to be replaced and still have the history from before."""
    return [
        each.name
        for each in found
        if each.replaced and each.name in settings and settings[each.name].history == each.history
    ]


def in_place(status: SearchRestoreStatus, stored: Stored, kept: Sequence[str]) -> list[str]:
    """Return the names of indices in the place of restored ones, but for those that are `kept` as they were."""
    return [each.name for each in status.indices if stored.parts(each) and each.name not in kept]


def from_elsewhere(
    found: Iterable[RestoredIndex], stored: Stored, remembered: Remembered, origin: tuple[str, str]
) -> list[str]:
    """Return the names of indices that were restored from another snapshot than `origin`, with its repository first."""
    return [
        each.name
        for each in found
        if any(shard.origin != origin for name in stored.parts(each) for shard in remembered.get(name, ()))
    ]


def restored_bytes(remembered: Remembered) -> tuple[int, int]:
    """Return the bytes that are restored, and those that are to be, of shards that have begun."""
    sizes = [shard.index.size for shards in remembered.values() for shard in shards]
    done = sum(each.recovered_in_bytes + each.reused_in_bytes for each in sizes)
    return done, sum(each.total_in_bytes for each in sizes)


def _from_snapshot(each: RestoredIndex, settings: Settings | None, ended: float) -> bool:
    if settings is None:
        return False
    if each.replaced:
        return bool(settings.history) and settings.history != each.history
    return settings.created.isdecimal() and int(settings.created) <= ended


def with_aliases(spec: SearchRestoreSpec) -> bool:
    """Return whether indices get their aliases back; renamed ones beside the others would double what readers find."""
    return spec.rename_pattern is None if spec.include_aliases is None else spec.include_aliases


def starting(spec: SearchRestoreSpec, status: SearchRestoreStatus) -> Request:
    """Return the request that starts a restore."""
    body: Json = {
        "indices": [each.source for each in status.indices],
        "include_global_state": False,
        "include_aliases": with_aliases(spec),
        "partial": False,
    }
    if spec.rename_pattern is not None and spec.rename_replacement is not None:
        body |= {"rename_pattern": spec.rename_pattern, "rename_replacement": spec.rename_replacement}
    if spec.index_settings:
        body["index_settings"] = spec.index_settings
    if spec.ignore_index_settings:
        body["ignore_index_settings"] = spec.ignore_index_settings
    path = f"/_snapshot/{spec.repository}/{status.snapshot}/_restore"
    return Request("POST", path, {"wait_for_completion": "false"}, body)


def pending(parts: Sequence[str], rows: Sequence[ShardRow]) -> Decision | None:
    """Return what a restore waits for, from all copies of its indices; None if all primaries are there."""
    primaries = [row for row in rows if row.prirep == "p"]
    if not {row.index for row in primaries} >= set(parts):
        return Decision(Do.WAIT, "Restoring", "the database does not show all shards yet")
    for row in primaries:
        if row.state == "UNASSIGNED" and row.reason == _FAILED:
            message = f"{row.index}[{row.shard}] cannot be restored: {_brief(row.details)}; delete the index"
            return Decision(Do.STOP, "RestoreFailed", message)
    left = [row for row in primaries if row.state not in ("STARTED", "RELOCATING")]
    if not left:
        return None
    homeless = sum(row.state == "UNASSIGNED" for row in left)
    waits = f", {homeless} of them wait for a node" if homeless else ""
    return Decision(Do.WAIT, "Restoring", f"{len(left)} of {len(primaries)} primaries are not restored yet{waits}")


def _brief(details: str | None) -> str:
    """Return the reason of the database without the places in its program."""
    lines = (line.strip() for line in (details or "the database gives no reason").splitlines())
    return " ".join(line for line in lines if not line.startswith("at "))[:600]


def counted(status: SearchRestoreStatus, stored: Stored, documents: Mapping[str, int], now: str) -> SearchRestoreStatus:
    """Return the status of a finished restore."""
    indices = [replace(each, documents=sum(documents[name] for name in stored.parts(each))) for each in status.indices]
    total = sum(documents.values())
    return replace(status, phase=RestorePhase.DONE, indices=indices, documents=total, completion_time=now)
