"""Skips quiet periods, so that a simulated year takes only as long as its events.

The operator reconciles a settled cluster every minute, and each round has the same result, because the planner is a
function of its observation. So when several rounds had the same result, no fault is active and no event is due, the
time until shortly before the next event is skipped: later events come sooner, at their original wall time. The
operator's own timers, leases and streams do not move.
"""

from collections.abc import Callable

from stateward.simulation.apiserver.store import Event
from stateward.simulation.properties.goal import unmet
from stateward.simulation.world.world import World

STILL = 200.0
"""Seconds without a change before time is skipped: three rounds of a settled cluster."""
LEAD = 60.0
"""Seconds before the next event that are not skipped."""


class QuietPeriod:
    """Detects quiet periods of a world; `requests_unaffected` returns whether no fault affects requests."""

    def __init__(self, world: World, requests_unaffected: Callable[[], bool]) -> None:
        self._world = world
        self._requests_unaffected = requests_unaffected
        self._changes = 0
        self._known: tuple[object, ...] = ()
        self._since = world.now
        self._unmet_since: float | None = None
        world.store.subscribers.append(self._on_store_event)

    def skip_if_quiet(self, longest: float) -> None:
        """Skip time if the world is quiet, at most this many seconds."""
        now, found = self._world.now, self._state()
        if found != self._known or not self._requests_unaffected():
            self._known, self._since = found, now
            return
        if now - self._since < STILL or self.unmet_for():
            return
        seconds = min(self._world.context.ahead(), longest) - LEAD
        if seconds > LEAD:
            self._world.context.skip(seconds)

    def unmet_for(self) -> float:
        """Return for how many seconds the desired state has not been reached; 0 if it is reached now."""
        if not unmet(self._world):
            self._unmet_since = None
            return 0.0
        if self._unmet_since is None:
            self._unmet_since = self._world.now - 1.0
        return self._world.now - self._unmet_since

    def user_intervened(self) -> None:
        """Start the count again, because the simulated user has intervened."""
        self._unmet_since = None

    def _state(self) -> tuple[object, ...]:
        databases = tuple(c.version for c in self._world.databases.clusters.values())
        return self._changes, databases

    def _on_store_event(self, kind: str, _: Event) -> None:
        # Leases are renewed all the time, and change nothing else.
        self._changes += not kind.startswith("coordination")
