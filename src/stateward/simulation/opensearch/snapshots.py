"""Snapshots, restores and the indices that they are of, as the snapshot API shows them.

Written from answers of OpenSearch 2.19.3 and Elasticsearch 8.19.4, without the operator's own records: so a mistake in
those is not repeated here. A snapshot takes `SECONDS`, and so does a restore; meanwhile both can be seen.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, cast

from stateward.api.values.base import Json

Reply = tuple[int, Json]
"""A status code and a document."""
SECONDS = 40.0
"""Seconds that a snapshot takes, and a restore."""
_STATUS = "_status"
_OF_INDICES = frozenset({"_close", "_open", "_recovery", "_search"})


def about_snapshots(method: str, path: str, params: Mapping[str, str]) -> bool:
    """Return whether a request is about snapshots, restores, or the indices around them."""
    parts = path.strip("/").split("/")
    if path.startswith("/_"):
        active = parts[0] == "_recovery" and params.get("active_only") == "true"
        listed = parts[:2] in (["_resolve", "index"], ["_cat", "shards"])
        return active or listed or (parts[0] == "_snapshot" and len(parts) > 2 and parts[2] != "_verify")
    return len(parts) > 1 and (parts[1] in _OF_INDICES or (method == "GET" and parts[1] == "_settings"))


@dataclass(slots=True)
class ModelIndex:
    """An index: its documents, when it was made, and the snapshot that it is being restored from, if any."""

    documents: int
    created: int
    """Milliseconds since the epoch."""
    open: bool = True
    history: str = ""
    stream: str = ""
    restored_from: str = ""
    restored_at: float = 0.0
    broken: bool = False


@dataclass(slots=True)
class ModelSnapshot:
    """A snapshot with the indices as they were; `ends` is when it is finished, in seconds since the epoch."""

    name: str
    uuid: str
    began: float
    ends: float
    state: str
    metadata: Json
    indices: dict[str, ModelIndex]
    damaged: bool = False
    """Whether its files are: what begins to be restored from it then fails."""

    def shown(self, now: float) -> Json:
        """Return it as the database shows it at a time."""
        running = now < self.ends
        state = "IN_PROGRESS" if running else self.state
        failed = 0 if running or state == "SUCCESS" else 1
        reason = {"index": next(iter(self.indices), "x"), "shard_id": 0, "reason": "node left", "node_id": "n1"}
        total = 0 if running else len(self.indices)
        return {
            "snapshot": self.name,
            "uuid": self.uuid,
            "version": "2.19.3",
            "indices": list(self.indices),
            "data_streams": sorted({each.stream for each in self.indices.values() if each.stream}),
            "metadata": self.metadata,
            "state": state,
            "start_time_in_millis": int(self.began * 1000),
            "end_time_in_millis": 0 if running else int(self.ends * 1000),
            "failures": [reason] * failed,
            "shards": {"total": total, "failed": failed, "successful": total - failed},
        }


@dataclass(slots=True)
class Snapshots:
    """All repositories of a database, by name, and its indices; `fails` is the state of the snapshots that begin."""

    now: Callable[[], float]
    repositories: dict[str, dict[str, ModelSnapshot]] = field(default_factory=dict[str, dict[str, ModelSnapshot]])
    indices: dict[str, ModelIndex] = field(default_factory=dict[str, ModelIndex])
    aliases: set[str] = field(default_factory=set[str])
    fails: str = "SUCCESS"
    breaks: bool = False
    """Whether restores fail."""
    began: list[str] = field(default_factory=list[str])
    """The names of all snapshots that were begun, in order."""
    restores: int = 0
    readonly: set[str] = field(default_factory=set[str])
    """Repositories that may only be read."""
    unreadable: set[str] = field(default_factory=set[str])
    """Repositories whose files are gone or damaged."""
    silent_sizes: bool = False
    """Whether the database does not tell sizes."""
    late: int = 0
    """How many reads of a name, after a snapshot was begun, do not have it yet."""

    def add_index(self, name: str, documents: int, stream: str = "") -> None:
        """Create an index, or one of a data stream."""
        self.indices[name] = ModelIndex(documents, int(self.now() * 1000), stream=stream)

    def answer(self, method: str, path: str, params: Mapping[str, str], body: Json) -> Reply | None:
        """Return the reply to a request; None if it concerns neither snapshots nor indices."""
        parts = path.strip("/").split("/")
        if parts[0] == "_snapshot" and len(parts) > 2 and parts[2:] != ["_verify"]:
            return self._repository(method, parts[1:], params, body)
        if parts[:2] == ["_resolve", "index"]:
            return 200, self._resolved()
        if parts[0] == "_recovery":
            return 200, self._recoveries(list(self.indices), active=True)
        if parts[:2] == ["_cat", "shards"]:
            return self._of(parts[2], self._rows)
        if len(parts) > 1 and parts[1] in ("_close", "_open"):
            return self._of(parts[0], lambda names: self._switched(names, is_open=parts[1] == "_open"))
        own = {"_settings": self._settings, "_recovery": self._recoveries, "_search": self._searched}
        return self._of(parts[0], own[parts[1]]) if len(parts) > 1 and parts[1] in own else None

    def _of(self, names: str, answer: Callable[[list[str]], Any]) -> Reply:
        asked = names.split(",")
        missing = next((name for name in asked if name not in self.indices), None)
        if missing is not None:
            return _refusal(404, "index_not_found_exception", f"no such index [{missing}]")
        return 200, answer(asked)

    def _repository(self, method: str, parts: list[str], params: Mapping[str, str], body: Json) -> Reply:
        repository, name, *rest = parts
        stored = self.repositories.get(repository)
        if stored is None:
            return _refusal(404, "repository_missing_exception", f"[{repository}] missing")
        if (broken := self._broken(method, repository)) is not None:
            return broken
        if rest == ["_restore"]:
            return self._restore(stored, repository, name, body)
        if method == "PUT":
            return self._create(stored, repository, name, body)
        if method == "DELETE":
            return self._delete(stored, repository, name)
        names = params.get("verbose") == "false"
        code, answer = self._shown(stored, repository, name, status=rest == [_STATUS], names=names)
        fields = params.get("filter_path", "").split(",")
        if fields != [""] and "snapshots.indices" not in fields:
            for each in answer.get("snapshots", ()):
                each.pop("indices", None)
                each.pop("data_streams", None)
        return code, answer

    def _broken(self, method: str, repository: str) -> Reply | None:
        if repository in self.unreadable:
            return _refusal(500, "repository_exception", f"[{repository}] could not read repository data")
        if repository in self.readonly and method in ("PUT", "DELETE"):
            return _refusal(500, "repository_exception", f"[{repository}] the repository is readonly")
        return None

    def _shown(
        self, stored: dict[str, ModelSnapshot], repository: str, name: str, *, status: bool, names: bool
    ) -> Reply:
        now = self.now()
        if status and self.silent_sizes:
            return _refusal(500, "snapshot_exception", "failed to read shard snapshot file")
        pattern = "*" if name in ("_all", "_current") else name
        found = [each for each in stored.values() if fnmatchcase(each.name, pattern)]
        if found and self.late:
            self.late -= name not in ("_all", "_current")
            found = []
        if name == "_current":
            found = [each for each in found if now < each.ends]
        elif not found and name != "_all":
            return _refusal(404, "snapshot_missing_exception", f"[{repository}:{name}] is missing")
        if status:
            return 200, {"snapshots": [_progress(each, now) for each in found]}
        if names:
            return 200, {"snapshots": [{"snapshot": each.name, "uuid": each.uuid} for each in found]}
        return 200, {"snapshots": [each.shown(now) for each in found]}

    def _create(self, stored: dict[str, ModelSnapshot], repository: str, name: str, body: Json) -> Reply:
        if name in stored:
            text = f"[{repository}:{name}] Invalid snapshot name [{name}], snapshot with the same name already exists"
            return _refusal(400, "invalid_snapshot_name_exception", text)
        chosen = [index for index in self.indices if _chosen(index, body["indices"])]
        missing = [each for each in body["indices"] if "*" not in each and each not in self.indices]
        if missing:
            return _refusal(404, "index_not_found_exception", f"no such index [{missing[0]}]")
        now = self.now()
        copies = {index: self._copy(index) for index in chosen}
        uuid, metadata = f"uuid-{len(self.began)}", cast("Json", body.get("metadata") or {})
        stored[name] = ModelSnapshot(name, uuid, now, now + SECONDS, self.fails, metadata, copies)
        self.began.append(name)
        return 200, {"accepted": True}

    def _copy(self, index: str) -> ModelIndex:
        found = self.indices[index]
        return ModelIndex(found.documents, found.created, stream=found.stream)

    def _delete(self, stored: dict[str, ModelSnapshot], repository: str, name: str) -> Reply:
        if name not in stored:
            return _refusal(404, "snapshot_missing_exception", f"[{repository}:{name}] is missing")
        if any(
            self._restoring(each) and each.restored_from == f"{repository}/{name}" for each in self.indices.values()
        ):
            text = f"[{repository}:{name}] cannot delete snapshot during a restore in progress"
            return _refusal(503, "concurrent_snapshot_execution_exception", text)
        del stored[name]
        return 200, {"acknowledged": True}

    def _restoring(self, found: ModelIndex) -> bool:
        return bool(found.restored_from) and self.now() < found.restored_at and not found.broken

    def _restore(self, stored: dict[str, ModelSnapshot], repository: str, name: str, body: Json) -> Reply:
        taken = stored.get(name)
        if taken is None or self.now() < taken.ends:
            return _refusal(500, "snapshot_restore_exception", f"[{repository}:{name}] snapshot does not exist")
        renamed = {index: new_name(index, body) for index in body["indices"]}
        made = dict[str, ModelIndex]()
        for index, copy in taken.indices.items():
            if (copy.stream or index) not in renamed:
                continue
            target = renamed[copy.stream or index]
            stream = target if copy.stream else ""
            target = index.replace(copy.stream, target) if copy.stream else target
            there = self.indices.get(target)
            if there is not None and there.open:
                return _refusal(500, "snapshot_restore_exception", f"cannot restore index [{target}]: an open index")
            self.restores += 1
            history = f"history-{self.restores}" if there is not None else ""
            ends = self.now() + SECONDS
            origin = f"{repository}/{name}"
            made[target] = ModelIndex(
                copy.documents, copy.created, True, history, stream, origin, ends, self.breaks or taken.damaged
            )
        if not made:
            return _refusal(404, "index_not_found_exception", f"no such index {body['indices']}")
        self.indices |= made
        return 200, {"accepted": True}

    def _resolved(self) -> Json:
        streams = {each.stream for each in self.indices.values() if each.stream}
        return {
            "indices": [
                {"name": name, "attributes": ["open" if each.open else "closed"]} for name, each in self.indices.items()
            ],
            "aliases": [{"name": name, "indices": []} for name in sorted(self.aliases)],
            "data_streams": [
                {"name": name, "backing_indices": [i for i, each in self.indices.items() if each.stream == name]}
                for name in sorted(streams)
            ],
        }

    def _recoveries(self, names: list[str], *, active: bool = False) -> Json:
        return {
            name: {"shards": [_recovery(self.indices[name], self.now())]}
            for name in names
            if (self._restoring(self.indices[name]) if active else self.indices[name].restored_from)
        }

    def _rows(self, names: list[str]) -> list[Json]:
        return [
            {"index": name, "shard": "0", "prirep": "p", "state": self._state(each), **_reason(each)}
            for name in names
            if (each := self.indices[name])
        ]

    def _state(self, found: ModelIndex) -> str:
        if found.broken:
            return "UNASSIGNED"
        return "INITIALIZING" if self._restoring(found) else "STARTED"

    def _switched(self, names: list[str], *, is_open: bool) -> Json:
        for name in names:
            self.indices[name].open = is_open
        return {"acknowledged": True}

    def _settings(self, names: list[str]) -> Json:
        return {
            name: {
                "settings": {
                    "index.creation_date": str(self.indices[name].created),
                    **({"index.history.uuid": self.indices[name].history} if self.indices[name].history else {}),
                }
            }
            for name in names
        }

    def _searched(self, names: list[str]) -> Json:
        counts = [{"key": name, "doc_count": self.indices[name].documents} for name in names]
        buckets = [each for each in counts if each["doc_count"]]
        return {"timed_out": False, "_shards": {"failed": 0}, "aggregations": {"indices": {"buckets": buckets}}}


def _progress(found: ModelSnapshot, now: float) -> Json:
    total = len(found.indices)
    done = total if now >= found.ends else 0
    size = sum(each.documents for each in found.indices.values()) * 1000
    stats = {"total": {"file_count": total, "size_in_bytes": size if done else 0}}
    return {"snapshot": found.name, "shards_stats": {"done": done, "total": total}, "stats": stats}


def _recovery(found: ModelIndex, now: float) -> Json:
    repository, _, snapshot = found.restored_from.partition("/")
    total = found.documents * 1000
    reused = total // 3 if found.history else 0  # Files of the closed index that are the same.
    read = total - reused if now >= found.restored_at else 0
    size = {"total_in_bytes": total, "reused_in_bytes": reused, "recovered_in_bytes": read}
    source = {"repository": repository, "snapshot": snapshot}
    return {"type": "SNAPSHOT", "stage": "DONE", "primary": True, "source": source, "index": {"size": size}}


def _reason(found: ModelIndex) -> Json:
    if not found.broken:
        return {"unassigned.reason": None, "unassigned.details": None}
    details = "failed recovery, failure: nested: CorruptIndexException[verification failed]"
    return {"unassigned.reason": "ALLOCATION_FAILED", "unassigned.details": details}


def _chosen(index: str, patterns: list[str]) -> bool:
    """Return whether patterns choose an index: each adds or takes away, in order."""
    chosen = False
    for pattern in patterns:
        if fnmatchcase(index, pattern.removeprefix("-")):
            chosen = not pattern.startswith("-")
    return chosen


def new_name(name: str, body: Json) -> str:
    """Return the new name for the few patterns that tests use: all of the name, or a part of it."""
    pattern, text = body.get("rename_pattern"), body.get("rename_replacement", "")
    if pattern is None:
        return name
    return text.replace("$1", name) if pattern == "(.+)" else name.replace(pattern, text)


def _refusal(status: int, kind: str, reason: str) -> Reply:
    return status, {"error": {"type": kind, "reason": reason}, "status": status}
