"""Records the planner's decisions in a world: counts each kind, and adds new ones to the trace.

It reads the operator's metrics, so that no part of the product is replaced.
"""

from stateward.api.kinds.status import ClusterStatus
from stateward.kube.objects.metadata import Key
from stateward.operator.runtime.metrics import Metrics
from stateward.planning.plan import Plan
from stateward.simulation.cluster.context import SimulationContext


class DecisionMetrics(Metrics):
    """The metrics of one operator process, which also record its plans."""

    def __init__(self, context: SimulationContext) -> None:
        super().__init__()
        self._context = context
        self._said: dict[Key, frozenset[tuple[str, str]]] = {}

    def cluster(self, engine: str, key: Key, plan: Plan, status: ClusterStatus) -> None:
        """Record a plan."""
        super().cluster(engine, key, plan, status)
        for intent in plan.intents.values():
            self._context.count(f"state: {intent.state}")
            self._context.count(f"effect: {intent.effect.name.lower()}")
        for condition in status.conditions:
            if condition.reason == "MemberDoesNotStart":
                self._context.count("wait: MemberDoesNotStart")
        before = self._said.get(key, frozenset())
        for wait in plan.waits:
            self._context.count(f"wait: {wait.reason}")
            if (wait.subject, wait.reason) not in before:
                self._context.trace(f"  {wait.subject} waits ({wait.reason}): {wait.message}")
        self._said[key] = frozenset((wait.subject, wait.reason) for wait in plan.waits)
