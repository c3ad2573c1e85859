"""The turns of workloads that share a disruption budget: the next one restarts when the one before has its pods again.

The disaster this prevents: a budget counts pods only after they have gone. Workloads that see it at the same moment,
because they use the same Secret, would all find that it allows a disruption, and restart together.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from stateward.kube.timing.clock import Clock
from stateward.operator.restarts.views import Workload
from stateward.packages.plans.budgets import AGAIN_SECONDS
from stateward.packages.restarts.guards import Hold

LONGEST_SECONDS = 600.0
"""How long a restart that does not complete holds others: as long as a Deployment has for progress."""

IsComplete = Callable[[Workload], Awaitable[bool]]
"""Returns whether the pods of a workload are as they should be; raises ApiError."""


@dataclass(slots=True)
class _Turn:
    workload: Workload
    until: float
    begun: bool = False
    """Whether the restart was written; before that, the workload looks complete."""


class Turns:
    """Whose turn it is, by budget; remembered in this process only."""

    def __init__(self, clock: Clock, is_complete: IsComplete) -> None:
        self._clock, self._is_complete = clock, is_complete
        self._turns: dict[tuple[str, str], _Turn] = {}

    async def take(self, workload: Workload, budgets: Iterable[str]) -> Hold | None:
        """Take the turn under these budgets of its namespace, or return why it is not its turn; raises ApiError."""
        places = [(workload.namespace, name) for name in budgets]
        for place in places:
            await self._look(place)
        for place in places:
            turn = self._turns.get(place)
            if turn is not None and turn.workload != workload:
                said = (
                    f"restarts wait until {turn.workload.kind} {turn.workload.name}, which shares the"
                    f" PodDisruptionBudget {place[1]}, has restarted"
                )
                return Hold("RestartOverBudget", said, AGAIN_SECONDS)
        until = self._clock.monotonic() + LONGEST_SECONDS
        self._turns |= {place: _Turn(workload, until) for place in places}
        return None

    def end(self, workload: Workload, *, written: bool) -> None:
        """Note whether the restart of the workload that has the turn was written."""
        for place, turn in [*self._turns.items()]:
            if turn.workload == workload and written:
                turn.begun = True
            elif turn.workload == workload and not turn.begun:
                del self._turns[place]

    async def _look(self, place: tuple[str, str]) -> None:
        turn = self._turns.get(place)
        if turn is None or not turn.begun:
            return
        over = self._clock.monotonic() >= turn.until or await self._is_complete(turn.workload)
        if over and self._turns.get(place) is turn:
            del self._turns[place]
