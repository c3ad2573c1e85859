"""What a change of configuration costs a database: how long members are away, what is recovered, how reads fare.

Pure: from samples, which `bench.inplace` takes while a real cluster changes, to figures.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.scale import percentile


@dataclass
class Absences:
    """Who was missing from the database, and for how long; times in seconds of one clock."""

    members: frozenset[str]
    ended: list[float] = field(default_factory=list[float])
    """Lengths of absences that have ended."""
    _since: dict[str, float] = field(default_factory=dict[str, float])
    _last: float | None = None

    def seen(self, now: float, there: Collection[str]) -> None:
        """Take a sample: an absence begins after the last sample with the member, and ends with the first one again."""
        for name in self.members:
            if name in there:
                begun = self._since.pop(name, None)
                if begun is not None:
                    self.ended.append(now - begun)
            else:
                self._since.setdefault(name, now if self._last is None else self._last)
        self._last = now


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
    """One change over all members, one way; times in seconds."""

    way: str
    total: float
    away: tuple[float, ...]
    recoveries: int
    copied: int
    """Bytes."""
    reads_before: tuple[float, ...]
    reads_after: tuple[float, ...]

    @property
    def per_member(self) -> float:
        """Median time that a member was away."""
        return percentile(self.away, 50)


def milliseconds(values: tuple[float, ...]) -> str:
    """Return the median and the slow end of reads."""
    return f"{percentile(values, 50) * 1000:.0f} / {percentile(values, 99) * 1000:.0f} ms"
