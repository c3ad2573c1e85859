"""What was acknowledged, when, and how long nothing was: the books that the verdict is made from."""

from collections import deque
from dataclasses import dataclass, field

WINDOW = 5.0
"""Seconds over which the rate of writes is taken."""


@dataclass
class Ledger:
    """Documents by id as the database acknowledged them; times are monotonic seconds."""

    acknowledged: set[str] = field(default_factory=set[str])
    refused: int = 0
    """Writes that were not acknowledged: the database may have them or not, and nothing is owed."""
    unread: int = 0
    """Acknowledged documents that a later read did not bring back, though the database answered."""
    last_refusal: str = ""
    longest_gap: float = 0.0
    _last: float | None = None
    _recent: deque[float] = field(default_factory=deque[float])

    def begin(self, now: float) -> None:
        """Note that writing begins: time without a successful write counts from here."""
        self._last = now

    def acknowledge(self, identity: str, now: float) -> None:
        """Note that the database has promised to keep a document."""
        self.acknowledged.add(identity)
        self.close(now)
        self._last = now
        self._recent.append(now)

    def refuse(self, why: str) -> None:
        """Note that a write failed."""
        self.refused += 1
        self.last_refusal = why

    def close(self, now: float) -> None:
        """Count the time since the last successful write, also when no further one comes."""
        if self._last is not None:
            self.longest_gap = max(self.longest_gap, now - self._last)

    def rate(self, now: float) -> float:
        """Return the acknowledged writes per second of late."""
        while self._recent and self._recent[0] < now - WINDOW:
            self._recent.popleft()
        return len(self._recent) / WINDOW
