"""Counts the operator's steps in a scenario, and triggers a death after one of them."""

from collections.abc import Callable

from tests.simulation.scenario import Scenario


class Steps:
    """Counts the operator's writes and its commands to the database and agents; calls `death` after the fatal one.

    Without a `death` it kills the operator.
    """

    def __init__(self, scenario: Scenario, fatal: int = 0, death: Callable[[], None] | None = None) -> None:
        self.taken = 0
        self._fatal = fatal
        self._death = death or scenario.process.kill
        scenario.process.write_done = self._wrote
        scenario.process.command_done = self._step

    def _wrote(self, _verb: str, kind: str) -> None:
        if not kind.startswith(("events", "coordination")):
            self._step("")

    def _step(self, _what: str) -> None:
        self.taken += 1
        if self.taken == self._fatal:
            self._death()
