"""Reads and writes of snapshots, restores and the indices around them, in a session with one node.

What is not there, and what cannot be read, are told apart: the database answers 404 for both a missing snapshot and a
missing repository, and leaves out what it cannot read if that is asked for, so it never is.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from stateward.api.values.base import Json
from stateward.engines.connection.base import EngineError, GarbledError, RefusedError
from stateward.engines.search.database.session import Session
from stateward.engines.search.declared.requests import batches
from stateward.engines.search.declared.writes import Request
from stateward.engines.search.snapshots.records import (
    Listing,
    Names,
    Progress,
    Progresses,
    Recoveries,
    Recovery,
    Resolved,
    Settings,
    ShardRow,
    Snapshot,
    WithSettings,
)

_ABSENT = 404
_SNAPSHOT_PATIENCE = 60.0
"""Seconds for a request that reads or deletes many files of a repository."""
_FIELDS = (
    "remaining,failures,snapshots.snapshot,snapshots.uuid,snapshots.state,snapshots.version,snapshots.metadata,"
    "snapshots.start_time_in_millis,snapshots.end_time_in_millis,snapshots.failures,snapshots.shards,snapshots.reason"
)
"""Of a listing: not the names of all indices of all snapshots."""


async def one_snapshot(session: Session, repository: str, name: str) -> Snapshot | None:
    """Return a snapshot with its indices; None if the repository has none of this name. Raises EngineError."""
    found = await _read(session, repository, name, {})
    return found[0] if found else None


async def all_snapshots(session: Session, repository: str, pattern: str = "*") -> list[Snapshot]:
    """Return the snapshots whose names match, without their indices: all of them or an error. Raises EngineError."""
    return await _read(session, repository, pattern, {"filter_path": _FIELDS})


async def _read(session: Session, repository: str, pattern: str, params: Mapping[str, str]) -> list[Snapshot]:
    path = f"/_snapshot/{repository}/{pattern}"
    try:
        found = await session.call(Listing, "GET", path, params, patience=_SNAPSHOT_PATIENCE)
    except RefusedError as error:
        if error.status != _ABSENT:
            raise
        names = await session.get(Names, f"/_snapshot/{repository}/_all", {"verbose": "false"})
        if any(fnmatchcase(each.snapshot, pattern) for each in names.snapshots):
            raise GarbledError(f"{path} has snapshots that cannot be read: {error}") from None
        return []
    if found.remaining or found.failures or any(not fnmatchcase(each.snapshot, pattern) for each in found.snapshots):
        raise GarbledError(f"{path} gives an incomplete answer")
    return found.snapshots


async def running_snapshots(session: Session, repository: str) -> list[str]:
    """Return the names of all snapshots that are in progress in a repository; raises EngineError."""
    found = await session.get(Names, f"/_snapshot/{repository}/_current")
    return [each.snapshot for each in found.snapshots]


async def progress(session: Session, repository: str, name: str) -> Progress:
    """Return how far a snapshot is, and its size; raises EngineError."""
    params = {"filter_path": "snapshots.shards_stats,snapshots.stats"}
    path = f"/_snapshot/{repository}/{name}/_status"
    found = await session.call(Progresses, "GET", path, params, patience=_SNAPSHOT_PATIENCE)
    if not found.snapshots:
        raise GarbledError(f"{path} gives an answer without the snapshot")
    return found.snapshots[0]


async def size_of(session: Session, repository: str, name: str) -> int | None:
    """Return the bytes of a finished snapshot; None if the database does not tell.

    It reads a file for each shard, which takes minutes in large repositories: nothing waits for a figure.
    """
    try:
        return (await progress(session, repository, name)).stats.total.size_in_bytes
    except EngineError:
        return None


async def is_restoring(session: Session, repository: str, name: str) -> bool:
    """Return whether a copy is being restored from a snapshot right now; raises EngineError.

    Copies that wait for a place are not in the answer: for these the database itself refuses to delete the snapshot.
    """
    params = {"active_only": "true", "filter_path": "*.shards.type,*.shards.source"}
    found = await session.get(dict[str, Recoveries], "/_recovery", params)
    return any(shard.origin == (repository, name) for each in found.values() for shard in each.shards)


async def send(session: Session, request: Request) -> None:
    """Write; raises EngineError, and then the write may have happened."""
    await session.command(request.method, request.path, request.params, request.body, _SNAPSHOT_PATIENCE)


async def all_indices(session: Session) -> Resolved:
    """Return all indices, closed and hidden ones too, aliases and data streams; raises EngineError."""
    return await session.get(Resolved, "/_resolve/index/*", {"expand_wildcards": "all"})


async def settings_of(session: Session, indices: Iterable[str]) -> dict[str, Settings]:
    """Return creation and history of indices; raises EngineError, also if one of them is not there."""
    found = dict[str, Settings]()
    for batch in batches(indices):
        path = f"/{batch}/_settings/index.creation_date,index.history.uuid"
        answer = await session.get(dict[str, WithSettings], path, {"flat_settings": "true"})
        found |= {name: each.settings for name, each in answer.items()}
    return found


async def close_indices(session: Session, indices: Iterable[str]) -> None:
    """Close indices; raises EngineError, and then some may be closed."""
    for batch in batches(indices):
        await session.command("POST", f"/{batch}/_close", patience=_SNAPSHOT_PATIENCE)


async def open_indices(session: Session, indices: Iterable[str]) -> None:
    """Open indices; raises EngineError, and then some may be open."""
    for batch in batches(indices):
        await session.command("POST", f"/{batch}/_open", patience=_SNAPSHOT_PATIENCE)


async def shard_rows(session: Session, indices: Iterable[str]) -> list[ShardRow]:
    """Return all copies of indices; raises EngineError, also if one of them is not there."""
    params = {"format": "json", "h": "index,shard,prirep,state,unassigned.reason,unassigned.details"}
    return [
        row for batch in batches(indices) for row in await session.get(list[ShardRow], f"/_cat/shards/{batch}", params)
    ]


async def recoveries_of(session: Session, indices: Iterable[str]) -> dict[str, list[Recovery]]:
    """Return how shards of each index are or were restored from snapshots, as far as nodes remember it.

    A node forgets it when it restarts or the shard moves. Raises EngineError.
    """
    params = {"filter_path": "*.shards.type,*.shards.source,*.shards.index.size"}
    made = dict[str, list[Recovery]]()
    for batch in batches(indices):
        found = await session.get(dict[str, Recoveries], f"/{batch}/_recovery", params)
        made |= {name: [each for each in of.shards if each.type == "SNAPSHOT"] for name, of in found.items()}
    return made


async def documents_of(session: Session, indices: list[str]) -> dict[str, int]:
    """Return the number of documents of each index; raises EngineError if that is not known of all."""
    found = dict.fromkeys(indices, 0)
    for batch in batches(indices):
        names = {"terms": {"field": "_index", "size": batch.count(",") + 1}}
        body: Json = {"size": 0, "track_total_hits": True, "aggs": {"indices": names}}
        answer = await session.call(dict[str, Any], "POST", f"/{batch}/_search", None, body, _SNAPSHOT_PATIENCE)
        try:
            complete = answer["_shards"]["failed"] == 0 and not answer["timed_out"]
            buckets = {
                str(each["key"]): int(each["doc_count"]) for each in answer["aggregations"]["indices"]["buckets"]
            }
        except (KeyError, TypeError, ValueError):
            raise GarbledError("the answer to a search has no counts") from None
        if not complete or not buckets.keys() <= found.keys():
            raise GarbledError("some shards do not answer, so documents cannot be counted yet")
        found |= buckets
    return found
