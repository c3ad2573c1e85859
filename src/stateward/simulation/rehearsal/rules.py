"""What a rehearsal needs of a kind of database: how it plays, what of it is known, and the words for that."""

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from stateward.forecast.durations import Durations
from stateward.planning.model.observation import Observation
from stateward.simulation.rehearsal.faults import Fault
from stateward.simulation.rehearsal.timings import Spread
from stateward.simulation.rehearsal.world import RehearsedWorld


class Words(Struct, frozen=True):
    """How readers call what a run measures."""

    unit: str
    """What has copies, and is counted."""
    units: str
    unknown: str
    """The sentence if the database does not report enough for anything about copies and writes."""
    away: str
    """What is known of refused writes even then, as a noun; empty if nothing is."""
    assumed: str
    """What is assumed about the data, as clauses."""
    refuses: str = ""
    """What refuses writes if that is always the whole database; empty if it is some of the units."""
    sources: tuple[str, ...] = ()
    """The sources of the database's own durations, each as a sentence."""


class Rules(Protocol):
    """The rules of one kind of database. They are plain data, so that other processes can play them."""

    @property
    def words(self) -> Words:
        """The words for what is measured."""
        ...

    @property
    def plays_forecast(self) -> bool:
        """Whether its runs without a fault and with the usual timings are the forecast."""
        ...

    def problem(self, start: Observation) -> str | None:
        """Return why a cluster cannot be played, as a clause; None if it can."""
        ...

    def paced(self, durations: Durations, spread: Spread) -> tuple[Durations, Spread]:
        """Return durations and their spread with those that only this kind of database has."""
        ...

    def known(self, start: Observation) -> bool:
        """Return whether the database reports enough to measure copies and writes: otherwise they are not known."""
        ...

    def world(
        self, start: Observation, now: float, durations: Durations, faults: Iterable[Fault] = ()
    ) -> RehearsedWorld:
        """Return a cluster as it is at the begin of a run."""
        ...
