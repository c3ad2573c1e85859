"""What the tour knows of its world beyond the operator's history: whether writes were accepted, and lost nodes."""

from collections.abc import Iterable

from msgspec.structs import replace

from stateward.timeline.model import Band, Mark, Stretch, Timeline

WRITES = "writes"


class Measured:
    """The measurements so far. Times are seconds since the epoch of the world."""

    def __init__(self) -> None:
        self._stretches: list[Stretch] = []
        self._marks: list[Mark] = []

    def note(self, writes: str, marks: Iterable[str], now: float) -> None:
        """Note whether writes are accepted or refused now, and what has happened."""
        if not self._stretches or self._stretches[-1].value != writes:
            self._stretches[-1:] = [replace(last, end=now) for last in self._stretches[-1:]]
            self._stretches.append(Stretch(writes, now))
        self._marks += [Mark(now, text) for text in marks]

    def on(self, timeline: Timeline) -> Timeline:
        """Return a timeline with the measurements, in place of what the operator reports about writes."""
        others = tuple(band for band in timeline.bands if band.name != WRITES)
        marks = sorted((*timeline.marks, *self._marks), key=lambda mark: mark.at)
        return replace(timeline, bands=(*others, Band(WRITES, tuple(self._stretches))), marks=tuple(marks))
