"""Decides whether a restart would stop more pods than a disruption budget allows.

A rollout does not consult budgets: each workload rolls by its own strategy. So if several workloads share a budget and
a Secret, a new password would stop all of them together. Here they restart one after the other: a restart waits while a
budget that selects the pods allows no disruption, and (see `operator.restarts.turns`) while another one is in progress.

An unhealthy workload does not wait: its pods may be the ones that the budget lacks, and the restart may repair them.
"""

from collections.abc import Iterable

from stateward.api.values.base import Json
from stateward.packages.format.trees import at, items, obj, objs, text
from stateward.packages.plans.health import Health, health_of
from stateward.packages.restarts.dependencies import template_path
from stateward.packages.restarts.guards import Hold

AGAIN_SECONDS = 10.0
"""Seconds until the next check of a budget that allows nothing: budgets are not watched."""


def budgets_of(workload: Json, budgets: Iterable[Json]) -> tuple[str, ...]:
    """Return the names of the budgets that count for a restart of a workload."""
    return tuple(text(at(each, "metadata", "name")) for each in _counting(workload, budgets))


def _counting(workload: Json, budgets: Iterable[Json]) -> list[Json]:
    """Return the budgets that count for a restart of a workload: none if it is unhealthy."""
    path = template_path(workload)
    if path is None or health_of(workload).health is not Health.HEALTHY:
        return []
    labels = obj(at(workload, *path, "metadata", "labels"))
    return [each for each in budgets if selects(at(each, "spec", "selector"), labels)]


def exhausted(workload: Json, budgets: Iterable[Json]) -> Hold | None:
    """Return what holds a restart of a workload back because of the budgets of its namespace."""
    for budget in _counting(workload, budgets):
        if not _allows(budget):
            name = text(at(budget, "metadata", "name"))
            said = f"restarts wait until the PodDisruptionBudget {name} allows a disruption: {_short(budget)}"
            return Hold("RestartOverBudget", said, AGAIN_SECONDS)
    return None


def _allows(budget: Json) -> bool:
    """Return whether a budget certainly allows a disruption now; an outdated status does not."""
    seen, wanted = at(budget, "status", "observedGeneration"), at(budget, "metadata", "generation")
    allowed = at(budget, "status", "disruptionsAllowed")
    return seen == wanted and isinstance(allowed, int) and allowed > 0


def _short(budget: Json) -> str:
    healthy, desired = at(budget, "status", "currentHealthy"), at(budget, "status", "desiredHealthy")
    if not isinstance(healthy, int) or not isinstance(desired, int):
        return "the disruptions it allows are not known yet"
    return f"{healthy} pods are healthy, and {desired} have to be"


def selects(selector: object, labels: Json) -> bool:
    """Return whether a label selector selects pods with these labels; None selects nothing, an empty one all."""
    if not isinstance(selector, dict):
        return False
    wanted = obj(at(obj(selector), "matchLabels"))
    expressions = objs(at(obj(selector), "matchExpressions"))
    return all(labels.get(name) == value for name, value in wanted.items()) and all(
        _expressed(expression, labels) for expression in expressions
    )


def _expressed(expression: Json, labels: Json) -> bool:
    name, values = text(expression.get("key")), items(expression.get("values"))
    match expression.get("operator"):
        case "In":
            return name in labels and labels[name] in values
        case "NotIn":
            return labels.get(name) not in values
        case "Exists":
            return name in labels
        case "DoesNotExist":
            return name not in labels
        case _:
            return False
