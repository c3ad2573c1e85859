"""What the clients did and saw, and the judgement on it.

Each key is a register with one writer. Its values are the numbers 1, 2, 3 …, and each is also the external version of
the write, so that a write without an answer cannot come through after a later one. From this follows what the database
may answer:

* **In the end**, when all is healthy again, a key has at least its last acknowledged value, and no value that was never
  written. Anything else is a lost or an invented write.
* **During the run** a read may return an older value than the last acknowledged one: the search engines promise no
  linearizable reads while a network is cut. Such stale reads are counted. A value that was never written is a violation
  at any time.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf
from pathlib import Path

import msgspec
from msgspec import Struct

SPELL = 15.0
"""Seconds between two checks with a red database that belong together: longer than a check waits for its answer."""
HISTORY, FINAL = "history.jsonl", "final.json"


class Operation(Struct, frozen=True):
    """One call of a client; times in seconds since the run began."""

    kind: str
    """`write` or `read`."""
    key: str
    value: int | None
    """Written, or read; None if the key was not there, or if nothing was answered."""
    begin: float
    end: float
    answered: bool
    """Whether a write was acknowledged, or a read answered. A write without an answer may have happened."""


class Verdict(Struct, frozen=True):
    """The judgement on a whole run."""

    acknowledged: int
    unanswered: int
    reads: int
    stale: int
    stalest: float
    """Seconds between the acknowledgement of the newest value and the beginning of the most stale read."""
    longest: float
    """Seconds without any acknowledged write."""
    violations: tuple[str, ...]


class Broken(Struct, frozen=True):
    """A fault that was played; times as those of operations."""

    episode: int
    name: str
    begin: float
    end: float


def judge(history: Sequence[Operation], final: Mapping[str, int | None] | None) -> Verdict:
    """Judge a history and the values in the end; `final` has a value for each key that was ever acknowledged.

    If `final` is None, nothing could be read in the end: what is lost is then unknown, and no key is called lost.
    """
    writes = [each for each in history if each.kind == "write"]
    reads = [each for each in history if each.kind == "read" and each.answered]
    acknowledged = [each for each in writes if each.answered]
    newest = _by_key(acknowledged)
    ages = [age for each in reads if (age := _age(each, newest.get(each.key, []))) is not None]
    return Verdict(
        acknowledged=len(acknowledged),
        unanswered=len(writes) - len(acknowledged),
        reads=len(reads),
        stale=len(ages),
        stalest=max(ages, default=0.0),
        longest=_longest(acknowledged),
        violations=(*_invented(writes, reads), *(() if final is None else _lost(writes, acknowledged, final))),
    )


def _by_key(acknowledged: Iterable[Operation]) -> dict[str, list[Operation]]:
    """Return the acknowledged writes of each key, in the order of their values, which is that of their ends."""
    keys: dict[str, list[Operation]] = {}
    for write in sorted(acknowledged, key=lambda each: each.value or 0):
        keys.setdefault(write.key, []).append(write)
    return keys


def _age(read: Operation, writes: Sequence[Operation]) -> float | None:
    """Return how stale a read is, None if it is not: the time since a newer value was acknowledged before it began."""
    next_one = bisect_right(writes, read.value or 0, key=lambda each: each.value or 0)
    if next_one == len(writes) or writes[next_one].end >= read.begin:
        return None
    return read.begin - writes[next_one].end


def _longest(acknowledged: Sequence[Operation]) -> float:
    ends = sorted(each.end for each in acknowledged)
    return max((after - before for before, after in pairwise(ends)), default=0.0)


def _invented(writes: Iterable[Operation], reads: Iterable[Operation]) -> Iterable[str]:
    began = {(each.key, each.value): each.begin for each in writes}
    for read in reads:
        if read.value is not None and began.get((read.key, read.value), read.end + 1) > read.end:
            yield f"{read.key} was read as {read.value} at {read.end:.1f} s, which was never written"


def _lost(
    writes: Iterable[Operation], acknowledged: Iterable[Operation], final: Mapping[str, int | None]
) -> Iterable[str]:
    attempted: dict[str, set[int]] = {}
    for write in writes:
        attempted.setdefault(write.key, set()).add(write.value or 0)
    for key, known in sorted(_by_key(acknowledged).items()):
        found, write = final.get(key), known[-1]
        if found is None or found < (write.value or 0):
            yield f"{key} has {found} in the end; {write.value} was acknowledged at {write.end:.1f} s"
        elif found not in attempted[key]:
            yield f"{key} has {found} in the end, which was never written"


def red_spells(red: Sequence[float], faults: Sequence[Broken]) -> Iterable[str]:
    """Yield each spell in which the database was red, and the faults that its episode had played until then."""
    starts = [at for before, at in pairwise((-inf, *red)) if at - before > SPELL]
    for start, following in pairwise((*starts, inf)):
        checks = [at for at in red if start <= at < following]
        earlier = [each for each in faults if each.begin <= checks[-1]]
        last = max((each.episode for each in earlier), default=None)
        causes = [f"{each.name} at {each.begin:.0f} to {each.end:.0f} s" for each in earlier if each.episode == last]
        told = f"episode {last}: {'; '.join(causes)}" if causes else "no fault before"
        yield f"the database was red from {start:.0f} to {checks[-1]:.0f} s (checks: {len(checks)}); {told}"


def save(history: Iterable[Operation], final: Mapping[str, int | None] | None, place: Path) -> None:
    """Write a history, one operation on each line, and what was read in the end."""
    (place / HISTORY).write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in history))
    (place / FINAL).write_bytes(msgspec.json.encode(final))


def judged_again(place: Path) -> Verdict:
    """Judge what `save` has written; raises OSError, or msgspec.DecodeError if it is something else."""
    lines = (place / HISTORY).read_bytes().splitlines()
    final = msgspec.json.decode((place / FINAL).read_bytes(), type=dict[str, int | None] | None)
    return judge([msgspec.json.decode(line, type=Operation) for line in lines], final)
