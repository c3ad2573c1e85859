"""Where the time goes that a member is away: its own end, what the operator and Kubernetes add, and its own start.

Pure: from the lines that agents have written into their containers' logs to the lengths of the parts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from bench.clusters.scale import percentile
from bench.databases.absence import Absence

WORDS = {"stopping process": "told", "the process is stopped": "ended", "] started ": "launched"}
"""What an agent says, and which moment that is."""
PARTS = ("its own end", "between", "its start script", "its own start")
"""Until its process has ended; until the next one is started; until Java is; until it has joined the cluster again."""


@dataclass
class Diary:
    """What agents have said, by member; times in seconds since the epoch."""

    said: dict[str, set[tuple[float, str]]] = field(default_factory=dict[str, set[tuple[float, str]]])

    def read(self, member: str, log: str) -> None:
        """Take the lines of a log, each with the time at which it was written; lines may come more than once."""
        for line in log.splitlines():
            stamp, _, text = line.partition(" ")
            moment = next((name for words, name in WORDS.items() if "[stateward]" in text and words in text), None)
            if moment is not None:
                self.said.setdefault(member, set()).add((seconds(stamp), moment))

    def parts(self, absence: Absence) -> tuple[float, ...] | None:
        """Return the lengths of the parts of an absence in seconds; None where the agent was not heard."""
        heard = self.said.get(absence.member, set())
        told = [at for at, moment in heard if moment == "told" and at < absence.process]
        launched = [at for at, moment in heard if moment == "launched" and at < absence.process + 1]
        if not told or not launched:
            return None
        ended = [at for at, moment in heard if moment == "ended" and max(told) <= at <= max(launched)]
        if not ended:
            return None
        moments = (max(told), max(ended), max(launched), absence.process, absence.ended)
        return tuple(after - before for before, after in pairwise(moments))


def medians(parts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the median of each part."""
    return tuple(percentile([each[number] for each in parts], 50) if parts else 0.0 for number in range(len(PARTS)))


def told(parts: Iterable[float]) -> str:
    """Return lengths as they stand in a row."""
    return ", ".join(f"{name} {length:.1f} s" for name, length in zip(PARTS, parts, strict=True))


def seconds(stamp: str) -> float:
    """Return a time of RFC 3339, with nanoseconds, in seconds since the epoch."""
    whole, _, rest = stamp.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{rest or 0}")
