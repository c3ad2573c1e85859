"""The context of one world, shared by all its parts: store, clock, random source, timers, counters and trace."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, cast

from stateward.simulation.apiserver.documents import Doc, items, part, put
from stateward.simulation.apiserver.store import Store, Stored
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock, WorldLoop

KEPT = 1000
"""Limit of kept timers, after which expired ones are dropped."""


class SimulationContext:
    """The context of one world. `rng` belongs to the world; clients and faults have random streams of their own."""

    def __init__(self, seed: int, loop: asyncio.AbstractEventLoop) -> None:
        self.seed = seed
        self.loop = loop
        self.clock = WorldClock(loop)
        self.store = Store(self.clock.monotonic, self.clock.now)
        self.server = Server(self.store)
        self.rng = self.stream("world")
        self.counts: dict[str, int] = {}
        self.skipped = 0.0
        """Seconds that were skipped because no event was due."""
        self._timers: list[asyncio.TimerHandle] = []
        self._room = KEPT
        self.trace_lines: list[tuple[float, str]] | None = None
        """The trace: events in words with their times; None if it is not recorded."""
        self.last = ""
        """The last event of the trace."""

    @property
    def now(self) -> float:
        """Seconds of virtual time since the start of the world, without skipped ones."""
        return self.loop.time()

    @property
    def passed(self) -> float:
        """Seconds of virtual time since the start of the world."""
        return self.loop.time() + self.skipped

    def stream(self, name: str) -> random.Random:
        """Return a random stream of its own, so that more draws in one part do not change another part."""
        return random.Random(f"{self.seed}/{name}")  # noqa: S311 - a world is repeated by its seed

    def later(self, seconds: float, do: Callable[..., None], *arguments: Any) -> asyncio.TimerHandle:
        """Run a function after some seconds of virtual time."""
        timer = self.loop.call_later(seconds, do, *arguments)
        self._timers.append(timer)
        if len(self._timers) > self._room:
            self.ahead()
            self._room = max(KEPT, 2 * len(self._timers))
        return timer

    def soon(self, low: float, high: float, do: Callable[..., None], *arguments: Any) -> asyncio.TimerHandle:
        """Run a function after a random time between two bounds."""
        return self.later(self.rng.uniform(low, high), do, *arguments)

    def ahead(self) -> float:
        """Return the seconds until the next timer of the world; infinity if there is none."""
        now = self.now
        self._timers = [timer for timer in self._timers if timer.when() > now and not timer.cancelled()]
        return min((timer.when() for timer in self._timers), default=float("inf")) - now

    def skip(self, seconds: float) -> None:
        """Skip a time without events: the timers of the world fire sooner, at their original wall time.

        Only the world skips time. The operator does not notice: no lease and no stream becomes older.
        """
        self.ahead()
        cast("WorldLoop", self.loop).advance_timers(self._timers, seconds)
        self.clock.advance_wall_time(seconds)
        self.skipped += seconds

    def count(self, what: str) -> None:
        """Count an event for the report."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def trace(self, sentence: str) -> None:
        """Add an event to the trace."""
        self.last = sentence
        if self.trace_lines is not None:
            self.trace_lines.append((self.passed, sentence))

    def change(self, stored: Stored, path: tuple[str, ...], value: Any) -> Stored:
        """Write one part of an object as a Kubernetes controller does; does nothing if it has this value."""
        live = self.store.get(stored.kind, stored.key)
        if live is None or live.uid != stored.uid:
            return stored
        if part(live.doc, *path[:-1]).get(path[-1]) == value:
            return live
        return self.store.put(live.kind, put(live.doc, path, value), live.managers)

    def conditions(self, stored: Stored, changed: dict[str, Doc]) -> list[Doc]:
        """Return an object's conditions with some of them set; a transition time changes only with the status."""
        found: list[Doc] = items(stored.doc, "status", "conditions")
        for kind, condition in changed.items():
            old = next((c for c in found if c["type"] == kind), None)
            same = old is not None and old["status"] == condition["status"]
            when = (old.get("lastTransitionTime") if same and old else None) or self.store.timestamp()
            new = {"type": kind, "lastTransitionTime": when, **condition}
            found = [new if c["type"] == kind else c for c in found] if old else [*found, new]
        return found
