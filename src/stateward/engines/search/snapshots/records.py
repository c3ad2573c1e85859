"""What the databases answer about snapshots, indices and shards."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

SUCCESS, PARTIAL, IN_PROGRESS = "SUCCESS", "PARTIAL", "IN_PROGRESS"


class ShardFailure(Struct, frozen=True):
    """Why one shard is not in a snapshot."""

    index: str = ""
    shard_id: int = 0
    reason: str = ""


class Shards(Struct, frozen=True):
    """The shards of a snapshot; all are 0 while it is in progress."""

    total: int = 0
    failed: int = 0
    successful: int = 0


class Snapshot(Struct, frozen=True):
    """One snapshot; times in milliseconds since the epoch, 0 while there is none."""

    snapshot: str
    uuid: str
    state: str
    version: str = ""
    indices: list[str] = field(default_factory=list[str])
    data_streams: list[str] = field(default_factory=list[str])
    metadata: dict[str, Any] | None = None
    start_time_in_millis: int = 0
    end_time_in_millis: int = 0
    failures: list[ShardFailure] = field(default_factory=list[ShardFailure])
    shards: Shards = Shards()
    reason: str | None = None
    """Why all of it failed."""

    @property
    def running(self) -> bool:
        """Whether the database is still at work on it."""
        return self.state == IN_PROGRESS

    @property
    def reasons(self) -> list[str]:
        """Why it, or some of its shards, failed."""
        shards = [f"{each.index}[{each.shard_id}]: {each.reason}" for each in self.failures]
        return [*([self.reason] if self.reason else []), *shards]

    def marked(self, marks: dict[str, str]) -> bool:
        """Return whether its notes have all these marks."""
        notes = self.metadata or {}
        return all(notes.get(key) == value for key, value in marks.items())


def age(found: Snapshot) -> tuple[int, str]:
    """Return what orders snapshots, the oldest first."""
    return found.start_time_in_millis, found.snapshot


def newest(found: Iterable[Snapshot]) -> Snapshot | None:
    """Return the newest successful snapshot."""
    return max((each for each in found if each.state == SUCCESS), key=age, default=None)


class Listing(Struct, frozen=True):
    """An answer with snapshots; a complete one has no failures and nothing remaining."""

    snapshots: list[Snapshot] = field(default_factory=list[Snapshot])
    remaining: int = 0
    failures: dict[str, Any] = field(default_factory=dict[str, Any])


class Name(Struct, frozen=True):
    """A snapshot in an answer without details."""

    snapshot: str


class Names(Struct, frozen=True):
    """An answer with the names of snapshots."""

    snapshots: list[Name]


class ShardsStats(Struct, frozen=True):
    """How far the shards of a snapshot are."""

    done: int = 0
    total: int = 0


class Size(Struct, frozen=True):
    """A size in bytes."""

    size_in_bytes: int = 0


class Stats(Struct, frozen=True):
    """The sizes of a snapshot: `total` are all files that it needs."""

    total: Size = Size()


class Progress(Struct, frozen=True):
    """How far a snapshot is, and its size."""

    shards_stats: ShardsStats = ShardsStats()
    stats: Stats = Stats()


class Progresses(Struct, frozen=True):
    """An answer to `_status`."""

    snapshots: list[Progress]


class Index(Struct, frozen=True):
    """An index; its attributes are open or closed, and hidden."""

    name: str
    attributes: list[str] = field(default_factory=list[str])


class Alias(Struct, frozen=True):
    """An alias."""

    name: str


class DataStream(Struct, frozen=True):
    """A data stream and its indices; a single one is a text in some versions."""

    name: str
    backing_indices: list[str] | str = field(default_factory=list[str])

    @property
    def backing(self) -> tuple[str, ...]:
        """The names of its indices."""
        return (self.backing_indices,) if isinstance(self.backing_indices, str) else tuple(self.backing_indices)


class Resolved(Struct, frozen=True):
    """All indices, aliases and data streams of a database."""

    indices: list[Index]
    aliases: list[Alias]
    data_streams: list[DataStream]


class ShardRow(Struct, frozen=True, rename={"reason": "unassigned.reason", "details": "unassigned.details"}):
    """A copy of a shard: `prirep` is p for a primary; reason and details only while it has no node."""

    index: str
    shard: str
    prirep: str
    state: str
    reason: str | None = None
    details: str | None = None


class RecoverySize(Struct, frozen=True):
    """Bytes of a recovery; reused files were on the node already."""

    total_in_bytes: int = 0
    recovered_in_bytes: int = 0
    reused_in_bytes: int = 0


class RecoveryIndex(Struct, frozen=True):
    """The files of a recovery."""

    size: RecoverySize = RecoverySize()


class Recovery(Struct, frozen=True):
    """How one copy got its data; `source` has the repository and the snapshot if it came from there."""

    type: str = ""
    source: dict[str, Any] = field(default_factory=dict[str, Any])
    index: RecoveryIndex = RecoveryIndex()

    @property
    def origin(self) -> tuple[str, str]:
        """The repository and the snapshot; empty if the data did not come from one."""
        return str(self.source.get("repository", "")), str(self.source.get("snapshot", ""))


class Recoveries(Struct, frozen=True):
    """The recoveries of an index."""

    shards: list[Recovery] = field(default_factory=list[Recovery])


class Settings(Struct, frozen=True, rename={"created": "index.creation_date", "history": "index.history.uuid"}):
    """Two settings of an index.

    `created` is in milliseconds since the epoch; a restored index has that of the saved one. `history` is new when an
    index is restored over a closed one.
    """

    created: str = ""
    history: str = ""


class WithSettings(Struct, frozen=True):
    """An index with its settings."""

    settings: Settings = Settings()
