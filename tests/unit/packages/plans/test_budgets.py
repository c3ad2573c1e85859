"""A restart waits for a budget that allows nothing, unless it may be what brings the missing pods back."""

from typing import Any

import pytest

from stateward.packages.plans.budgets import exhausted, selects


def workload(ready: int = 2, **labels: str) -> dict[str, Any]:
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), ready)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "app", "generation": 1},
        "spec": {"replicas": 2, "template": {"metadata": {"labels": {"app": "app", **labels}}}},
        "status": {"observedGeneration": 1, **counts},
    }


def budget(allowed: object, seen: int = 1, **selector: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "both", "generation": 1},
        "spec": {"selector": selector or {"matchLabels": {"app": "app"}}},
        "status": {
            "observedGeneration": seen,
            "disruptionsAllowed": allowed,
            "currentHealthy": 3,
            "desiredHealthy": 3,
        },
    }


def test_a_budget_that_allows_nothing_holds_and_says_which_it_is() -> None:
    held = exhausted(workload(), [budget(0)])
    assert held is not None
    assert held.reason == "RestartOverBudget"
    assert "PodDisruptionBudget both allows a disruption: 3 pods are healthy, and 3 have to be" in held.message
    assert held.seconds == 10.0


def test_a_budget_that_allows_one_or_is_about_others_holds_nothing() -> None:
    assert exhausted(workload(), [budget(1)]) is None
    assert exhausted(workload(), [budget(0, matchLabels={"app": "other"})]) is None
    assert exhausted(workload(), []) is None


@pytest.mark.parametrize("unclear", [budget(5, seen=0), budget(None), {"metadata": {}, "spec": {"selector": {}}}])
def test_what_a_budget_allows_is_not_known_before_it_is_up_to_date(unclear: dict[str, Any]) -> None:
    assert exhausted(workload(), [unclear]) is not None


def test_a_workload_that_is_broken_waits_for_no_budget() -> None:
    assert exhausted(workload(ready=1), [budget(0)]) is None


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "app", "tier": "a"}}, True),
        ({"matchLabels": {"app": "app", "tier": "b"}}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["a"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "Unheard"}]}, False),
    ],
)
def test_selectors_select_as_kubernetes_does(selector: Any, *, fits: bool) -> None:
    assert selects(selector, {"app": "app", "tier": "a"}) is fits
