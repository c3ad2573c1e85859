"""The last line: what was promised, what was kept, and how long it took."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """The numbers of a whole demo; times in seconds."""

    acknowledged: int
    missing: int
    unread: int
    longest_gap: float
    took: float

    @property
    def kept(self) -> bool:
        """Whether no acknowledged document was lost, not even for a moment."""
        return self.acknowledged > 0 and not self.missing and not self.unread

    def __str__(self) -> str:
        """Return the one line."""
        unread = f", {self.unread} not readable for a moment" if self.unread else ""
        minutes, seconds = divmod(int(self.took), 60)
        return (
            f"{self.acknowledged} documents acknowledged, {self.acknowledged - self.missing} found{unread},"
            f" longest time without a successful write {self.longest_gap:.1f} s, took {minutes} min {seconds:02} s"
        )
