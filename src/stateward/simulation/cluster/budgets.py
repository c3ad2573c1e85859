"""Disruption budgets: how many pods may be evicted now, and the check of each eviction."""

from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.refusals import refusal
from stateward.simulation.apiserver.selectors import selector_matches
from stateward.simulation.apiserver.store import Store, Stored
from stateward.simulation.apiserver.writing.writes import Server


def guard(server: Server) -> None:
    """Make a server check its disruption budgets before it evicts a pod."""
    server.evictions = lambda pod: check(server.store, pod)


def check(store: Store, pod: Stored) -> None:
    """Raise TooManyRequests if a budget does not allow the eviction of a pod now."""
    for budget in store.all("policy/poddisruptionbudgets"):
        same = budget.key.namespace == pod.key.namespace
        if same and selector_matches(part(budget.doc, "spec", "selector"), pod.labels) and allowed(store, budget) < 1:
            raise refusal(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
                name=pod.key.name,
            )


def allowed(store: Store, budget: Stored) -> int:
    """Return how many of a budget's pods may be evicted now."""
    pods = [
        pod
        for pod in store.all("/pods")
        if pod.key.namespace == budget.key.namespace
        and selector_matches(part(budget.doc, "spec", "selector"), pod.labels)
    ]
    healthy = sum(ready(pod) and not pod.terminating for pod in pods)
    spec = part(budget.doc, "spec")
    if "maxUnavailable" in spec:
        # Kubernetes counts the replicas of the controllers of the pods that exist: here each has one.
        return healthy - (len(pods) - int(spec["maxUnavailable"]))
    return healthy - int(spec.get("minAvailable", 0))


def ready(pod: Stored) -> bool:
    """Return whether a pod's Ready condition is true."""
    conditions = part(pod.doc, "status").get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
