"""Hours in which nothing can happen: they are passed over, so that a year takes as long as what happens in it.

A cluster that is settled is looked at every minute, and each look finds what the one before has found: the planner is a
function of what it sees. So when several looks have found the same, nothing goes wrong, and nothing in the world is
about to happen, the time until shortly before the next event is taken out: what comes then comes sooner, at the wall
time at which it would have come. The operator's own timers, leases and streams are not moved.
"""

from collections.abc import Callable

from stateward.simulation.apiserver.store import Event
from stateward.simulation.properties.goal import unmet
from stateward.simulation.world.world import World

STILL = 200.0
"""Seconds for which nothing may have changed before time is passed over: three looks at a settled cluster."""
LEAD = 60.0
"""Seconds that are lived through before the next event."""


class Calm:
    """Sees when a world is calm; `fair` says whether nothing goes wrong with requests now."""

    def __init__(self, world: World, fair: Callable[[], bool]) -> None:
        self._world = world
        self._fair = fair
        self._changes = 0
        self._known: tuple[object, ...] = ()
        self._since = world.now
        self._unmet_since: float | None = None
        world.store.subscribers.append(self._heard)

    def look(self, longest: float) -> None:
        """Pass over time where that is possible, at most so many seconds."""
        now, found = self._world.now, self._state()
        if found != self._known or not self._fair():
            self._known, self._since = found, now
            return
        if now - self._since < STILL or self.unmet_for():
            return
        seconds = min(self._world.ground.ahead(), longest) - LEAD
        if seconds > LEAD:
            self._world.ground.skip(seconds)

    def unmet_for(self) -> float:
        """Return for how many seconds the desired state has not been reached; 0 where it is reached now."""
        if not unmet(self._world):
            self._unmet_since = None
            return 0.0
        if self._unmet_since is None:
            self._unmet_since = self._world.now - 1.0
        return self._world.now - self._unmet_since

    def seen(self) -> None:
        """Begin to count anew, because somebody has seen to it."""
        self._unmet_since = None

    def _state(self) -> tuple[object, ...]:
        databases = tuple(c.version for c in self._world.databases.clusters.values())
        return self._changes, databases

    def _heard(self, kind: str, _: Event) -> None:
        # A lease is renewed all the time, and changes nothing.
        self._changes += not kind.startswith("coordination")
