"""When disruption budgets are relaxed: at once in a settled cluster, and only after some seconds in a busy one.

Between two restarts of a rollout a budget would be open for a moment, and every change of it is a request to the API
server. A budget is tightened at once.
"""

from collections.abc import Mapping, Sequence

from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.planning.safety.disruption_budget import Budget

RELAX_SECONDS = 15.0
"""How long a relaxed budget must have been allowed, without interruption, before it is written."""


class BudgetPace:
    """Since when each cluster's budgets could be relaxed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[tuple[Key, str], float] = {}

    def paced(
        self, key: Key, budgets: Sequence[Budget], written: Mapping[str, int], *, settled: bool
    ) -> tuple[Budget, ...]:
        """Return the budgets to write; `written`: by name, how many pods each existing one keeps available."""
        return tuple(self._paced(key, budget, written.get(budget.name), settled=settled) for budget in budgets)

    def forget(self, key: Key) -> None:
        """Drop what is known of a cluster that is gone."""
        self._since = {known: since for known, since in self._since.items() if known[0] != key}

    def _paced(self, key: Key, budget: Budget, written: int | None, *, settled: bool) -> Budget:
        if settled or written is None or budget.min_available >= written:
            self._since.pop((key, budget.name), None)
            return budget
        now = self._clock.monotonic()
        if now - self._since.setdefault((key, budget.name), now) < RELAX_SECONDS:
            return Budget(budget.name, budget.roles, members=written, allowed=0)
        return budget
