"""Property t: while the operator stops a member, no disruption budget admits the eviction of another one.

It is judged by the live read on which the operator decides: an eviction that was admitted later is not in it.
"""

from collections.abc import Iterator

from stateward.api.values import names
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.selectors import selector_matches
from stateward.simulation.apiserver.store import Store, Stored

PODS, BUDGETS = "/pods", "policy/poddisruptionbudgets"


def open_budgets(store: Store, cluster: Key, at: float) -> Iterator[str]:
    """Return the budgets of a cluster that admitted an eviction at a time, as clauses.

    A budget of one pod always admits its eviction, and so does that of members with neither data nor a vote.
    """
    for budget in store.all(BUDGETS):
        if not _belongs(budget, cluster) or budget.key.name == f"{cluster.name}-others":
            continue
        then = store.past(BUDGETS, budget.key, at)
        selector = part((then or budget).doc, "spec", "selector")
        found = [pod for pod in store.all(PODS) if _belongs(pod, cluster) and selector_matches(selector, pod.labels)]
        pods = [pod for pod in found if store.past(PODS, pod.key, at) is not None]
        if len(pods) <= 1:
            continue
        if then is None:
            yield f"{budget.key.name} did not exist"
        elif then.doc["spec"].get("minAvailable", 0) < len(pods):
            yield f"{budget.key.name} admitted the eviction of one of {len(pods)} pods"


def _belongs(stored: Stored, cluster: Key) -> bool:
    return stored.key.namespace == cluster.namespace and stored.labels.get(names.LABEL_CLUSTER) == cluster.name
