"""What a run costs, counted as it happens: each change of the data or of a machine adjusts a few counters.

`Measures` are those of any database; what they count by name (shards, or teams) is for its rules to say.

A shard of a search engine has no second copy while it should have one and at most one of its copies is live. It is red
while none is, and refuses writes while its primary is not live. A copy on a machine that was lost is not live, even if
the database still lists it.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from stateward.planning.model.observation import Health, Unit


class Total(Struct, frozen=True):
    """How long something was so, and how often, in seconds; `most` is the largest number of shards at once.

    `lasting` is whether it still is so at the end.
    """

    seconds: float = 0.0
    times: int = 0
    longest: float = 0.0
    most: int = 0
    lasting: bool = False


class Gauge:
    """Counts what is in one state now, and integrates over time."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._since = self._seconds = self._longest = 0.0
        self._times = self._most = 0

    @property
    def on(self) -> bool:
        """Whether anything is in the state now."""
        return bool(self._names)

    @property
    def names(self) -> frozenset[str]:
        """What is in the state now."""
        return frozenset(self._names)

    def set(self, name: str, now: float, *, on: bool) -> None:
        """Record that something is in the state from now on, or no longer."""
        before = self.on
        (self._names.add if on else self._names.discard)(name)
        self._note(now, before=before)

    def set_all(self, names: Iterable[str], now: float) -> None:
        """Record that exactly these are in the state from now on."""
        before = self.on
        self._names = set(names)
        self._note(now, before=before)

    def _note(self, now: float, *, before: bool) -> None:
        self._most = max(self._most, len(self._names))
        if self.on and not before:
            self._since, self._times = now, self._times + 1
        elif before and not self.on:
            self._end(now)

    def total(self, now: float) -> Total:
        """Return the total until now."""
        running = now - self._since if self.on else 0.0
        return Total(self._seconds + running, self._times, max(self._longest, running), self._most, self.on)

    def _end(self, now: float) -> None:
        self._seconds += now - self._since
        self._longest = max(self._longest, now - self._since)


NO_QUORUM = "(no elected manager)"
"""The name under which a database without an elected manager refuses writes."""


class Measures:
    """The measures of one run."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        """The clock."""
        self.single, self.red, self.refused, self.down = Gauge(), Gauge(), Gauge(), Gauge()

    def member(self, name: str, *, up: bool) -> None:
        """Record whether a member that was in the database serves."""
        self.down.set(name, self.now(), on=not up)


class ShardMeasures(Measures):
    """The measures of a database that reports each copy of its shards."""

    def __init__(self, now: Callable[[], float], units: Iterable[Unit]) -> None:
        super().__init__(now)
        self._unreachable: frozenset[str] = frozenset()
        self._units: dict[str, Unit] = {}
        self._degraded: set[str] = set()
        for unit in units:
            self.unit(unit)

    def unit(self, unit: Unit) -> None:
        """Record the copies of a shard."""
        self._units[unit.name] = unit
        live = [copy for copy in unit.copies if copy.live and copy.member not in self._unreachable]
        now, name = self.now(), unit.name
        self.single.set(name, now, on=unit.wanted > 1 and len(live) < 2)
        self.red.set(name, now, on=not live)
        self.refused.set(name, now, on=not any(copy.primary for copy in live))
        (self._degraded.discard if len(live) == len(unit.copies) else self._degraded.add)(name)

    def unreachable(self, names: frozenset[str]) -> None:
        """Record which members are on machines that are lost or cut off."""
        changed = names ^ self._unreachable
        self._unreachable = names
        for unit in tuple(self._units.values()):
            if any(copy.member in changed for copy in unit.copies):
                self.unit(unit)

    def quorum(self, *, present: bool) -> None:
        """Record whether the database has an elected manager: without one it refuses all writes."""
        self.refused.set(NO_QUORUM, self.now(), on=not present)

    @property
    def health(self) -> Health:
        """The health of the database: red while a shard has no live primary."""
        if self.refused.names - {NO_QUORUM}:
            return Health.RED
        return Health.YELLOW if self._degraded else Health.GREEN
