"""Checks that no value of a Secret of users is in a status, in an event, or in the operator's log."""

from collections.abc import Mapping, Sequence

import msgspec

from stateward.api.values.base import GROUP
from stateward.simulation.apiserver.store import Event
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.world.world import World

READABLE = (f"{GROUP}/", "events.k8s.io/")
"""What people without the right to read Secrets may read: kinds that begin so."""


class Secrecy:
    """Looks for values in what people may read."""

    def __init__(self, world: World, violations: list[Violation], *values: Sequence[str]) -> None:
        """`values` may grow."""
        self._world = world
        self._violations = violations
        self._values = values
        world.store.subscribers.append(self._on_event)

    def logged(self, event: str, values: Mapping[str, object]) -> None:
        """Check a line of the log."""
        self._check(f"{event} {dict(values)}", "the log")

    def _on_event(self, kind: str, event: Event) -> None:
        if event.new is not None and kind.startswith(READABLE):
            self._check(msgspec.json.encode(event.new.doc).decode(), f"{kind} {event.new.key.name}")

    def _check(self, text: str, where: str) -> None:
        if any(value in text for known in self._values for value in known):
            message = f"{where} shows the value of a Secret"
            self._world.context.trace(f"VIOLATION [n] {message}")
            self._violations.append(Violation("n", self._world.now, message))
