"""The steps that an operator takes in a story, counted, with something that happens after one of them."""

from collections.abc import Callable

from tests.simulation.scenario import Scenario


class Steps:
    """Counts the operator's writes, calls of the database and words for agents; after the fatal one `death` happens.

    Without a `death` it is the operator that dies.
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
