"""The cost of a configuration change: unavailable members, recovered data, and latency of reads.

Pure: from samples, which `bench.databases.inplace` takes while a real cluster changes, to figures.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.clusters.scale import percentile


@dataclass(frozen=True, slots=True)
class Absence:
    """A time without a member; all times in seconds since the epoch."""

    member: str
    begun: float
    ended: float
    process: float
    """When the process was started that has joined after it."""

    @property
    def seconds(self) -> float:
        """The whole of it."""
        return self.ended - self.begun

    @property
    def without(self) -> float:
        """The part until the next process was started: what the way decides, and not the database's own start."""
        return self.process - self.begun


@dataclass
class Absences:
    """The absence of a member from the database; times in seconds since the epoch."""

    members: frozenset[str]
    ended: list[tuple[str, float, float]] = field(default_factory=list[tuple[str, float, float]])
    """Absences that have ended: whose, from when, until when."""
    _since: dict[str, float] = field(default_factory=dict[str, float])
    _last: float | None = None

    def seen(self, now: float, there: Collection[str]) -> None:
        """Take a sample: an absence begins after the last sample with the member, and ends with the first one again."""
        for name in self.members:
            if name in there:
                begun = self._since.pop(name, None)
                if begun is not None:
                    self.ended.append((name, begun, now))
            else:
                self._since.setdefault(name, now if self._last is None else self._last)
        self._last = now

    def explained(self, processes: Mapping[str, float]) -> tuple[Absence, ...]:
        """Return those in which a member's process was started, its last one; a busy machine makes others, too."""
        found = (Absence(name, begun, ended, processes[name]) for name, begun, ended in self.ended)
        return tuple(each for each in found if each.begun <= each.process <= each.ended)


@dataclass
class Recoveries:
    """Recoveries of shard copies, by what tells one from another."""

    before: frozenset[tuple[str, ...]] = frozenset()
    found: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])
    """Bytes that were copied from another member, by recovery."""

    def seen(self, answer: Mapping[str, Any]) -> None:
        """Take an answer of `_recovery`."""
        for index, shards in answer.items():
            for shard in shards["shards"]:
                key = (index, str(shard["id"]), str(shard["target"].get("name")), str(shard["start_time_in_millis"]))
                if key not in self.before:
                    self.found[key] = int(shard["index"]["size"]["recovered_in_bytes"])


@dataclass(frozen=True, slots=True)
class Change:
    """One change over all members, or several of the same way; times in seconds."""

    way: str
    total: tuple[float, ...]
    away: tuple[Absence, ...]
    parts: tuple[tuple[float, ...], ...]
    """Of those absences whose parts are known, as `bench.databases.steps` names them."""
    recoveries: int
    copied: int
    """Bytes."""
    reads_before: tuple[float, ...]
    reads_after: tuple[float, ...]

    @property
    def per_member(self) -> float:
        """Median time that a member was away."""
        return percentile([each.seconds for each in self.away], 50)

    @property
    def without(self) -> float:
        """Median time until a member's next process was started."""
        return percentile([each.without for each in self.away], 50)

    def __add__(self, other: "Change") -> "Change":
        """Return both as one: they were made the same way."""
        return Change(
            self.way,
            self.total + other.total,
            self.away + other.away,
            self.parts + other.parts,
            self.recoveries + other.recoveries,
            self.copied + other.copied,
            self.reads_before + other.reads_before,
            self.reads_after + other.reads_after,
        )


def milliseconds(values: tuple[float, ...]) -> str:
    """Return the median and the slow end of reads."""
    return f"{percentile(values, 50) * 1000:.0f} / {percentile(values, 99) * 1000:.0f} ms"
