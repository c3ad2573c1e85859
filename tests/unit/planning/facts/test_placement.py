"""Obstacles of new pods are reported in advance at their field; unknown objects cause no report."""

from typing import Any

import pytest

from stateward.api.values.problem import Severity
from stateward.planning.facts.placement import Inventory, Machine, Need, obstacles, priorities, pull_secrets

GIB = 1 << 30
SMALL = Machine("n1", {"disk": "ssd", "rank": "7"}, memory=4 * GIB, cpu=2000)
TAINTED = Machine("n2", {"disk": "hdd"}, (("only", "db", "NoSchedule"),), memory=64 * GIB, cpu=16000)
CORDONED = Machine("n3", {"disk": "ssd"}, unschedulable=True, memory=64 * GIB)
CLASSES = {"standard": True, "fast": False}
OWN: dict[str, Any] = {"nodeSelector": {}, "tolerations": [], "affinity": {}, "priorityClassName": ""}


def said(pod: dict[str, Any], *machines: Machine, own: dict[str, Any] | None = None, **named: Any) -> list[str]:
    need = Need("spec.pools[1]", pod, pod if own is None else own, storage_class="fast")
    inventory = Inventory(machines or None, named.pop("classes", CLASSES), **named)
    found = obstacles([need], inventory)
    assert all(problem.severity is Severity.WARNING for problem in found)
    return [str(problem) for problem in found]


def memory(size: str) -> dict[str, Any]:
    return {"containers": [{"resources": {"limits": {"memory": size}}}, {"resources": {"requests": {"memory": "1Gi"}}}]}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}]
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    }


def test_nothing_is_reported_of_what_could_not_be_read() -> None:
    need = Need("spec.pools[0]", {"priorityClassName": "p", "imagePullSecrets": [{"name": "s"}]}, storage_class="none")
    assert obstacles([need], Inventory()) == ()


def test_nothing_is_reported_of_a_pod_that_one_node_takes() -> None:
    assert said({}, TAINTED, CORDONED, SMALL) == []


def test_a_storage_class_that_does_not_exist() -> None:
    assert said({}, classes={"standard": True}) == [
        "spec.pools[1].storage.storageClass: 'fast': there is no such storage class; the server has: standard"
    ]


def test_no_class_is_named_and_none_is_the_default() -> None:
    (problem,) = obstacles([Need("spec.pools[0]", {})], Inventory(storage_classes={"fast": False}))
    assert "none is the default" in problem.message
    assert obstacles([Need("spec.pools[0]", {})], Inventory(storage_classes=CLASSES)) == ()
    assert obstacles([Need("spec.pools[0]", {}, volume=False)], Inventory(storage_classes={})) == ()


def test_a_priority_class_that_does_not_exist_is_named_where_it_is_written() -> None:
    pod = {"priorityClassName": "p"}
    assert said(pod, priority_classes={"p": False}) == [
        (
            "spec.pools[1].podTemplate.spec.priorityClassName: 'p': there is no such priority class, so the API server"
            " refuses the pods"
        )
    ]
    assert said(pod, priority_classes={"p": False}, own={})[0].startswith("spec.podTemplate.spec.priorityClassName")
    assert said(pod, priority_classes={"p": True}) == []


def test_a_pull_secret_that_does_not_exist() -> None:
    pod = {"imagePullSecrets": [{"name": "a"}, {"name": "b"}]}
    (only,) = said(pod, pull_secrets={"a": True, "b": False})
    assert "'b'" in only


def test_a_selector_that_fits_no_node() -> None:
    (only,) = said({"nodeSelector": {"disk": "tape"}}, SMALL)
    assert only == (
        "spec.pools[1].podTemplate.spec.nodeSelector: no node takes a new pod: 0 of 1 fit (1 node(s) without the labels"
        " disk=tape)"
    )
    assert said({"nodeSelector": {"disk": "ssd"}}, SMALL) == []


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "only", "operator": "Exists"},
        {"key": "only", "value": "db", "effect": "NoSchedule"},
        {"operator": "Exists"},
        {"key": "only", "operator": "", "value": "db"},
        {"key": "only", "operator": "Lt", "value": "950"},
    ],
)
def test_a_taint_that_is_tolerated_keeps_no_pod_away(toleration: dict[str, str]) -> None:
    assert said({"tolerations": [toleration]}, TAINTED) == []


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "only", "value": "other"},
        {"key": "only", "value": "db", "effect": "NoExecute"},
        {"key": "another", "operator": "Exists"},
        {"value": "db"},
    ],
)
def test_a_taint_that_is_not_tolerated_keeps_pods_away(toleration: dict[str, str]) -> None:
    (only,) = said({"tolerations": [toleration]}, TAINTED)
    assert only.startswith("spec.pools[1].podTemplate.spec.tolerations")
    assert "untolerated taint only" in only


def test_a_taint_that_only_prefers_keeps_no_pod_away() -> None:
    assert said({}, Machine("n", taints=(("a", "", "PreferNoSchedule"),))) == []


def test_more_than_any_node_has() -> None:
    (only,) = said(memory("5Gi"), SMALL)
    assert only.startswith("spec.pools[1].resources")
    assert said(memory("3Gi"), SMALL) == []
    (only,) = said({"containers": [{"resources": {"requests": {"cpu": "2001m"}}}]}, SMALL)
    assert "2001m" in only


def test_nodes_that_do_not_tell_their_size_are_not_judged_by_it() -> None:
    assert said(memory("500Gi"), Machine("n")) == []


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        (("disk", "In", "ssd", "nvme"), True),
        (("disk", "In", "hdd"), False),
        (("disk", "NotIn", "hdd"), True),
        (("disk", "NotIn", "ssd"), False),
        (("disk", "Exists"), True),
        (("gpu", "Exists"), False),
        (("gpu", "DoesNotExist"), True),
        (("disk", "DoesNotExist"), False),
        (("rank", "Gt", "6"), True),
        (("rank", "Gt", "7"), False),
        (("rank", "Lt", "8"), True),
        (("rank", "Lt", "7"), False),
        (("disk", "Gt", "1"), False),
        (("rank", "Gt", "--5"), False),
        (("rank", "Lt", "²"), False),
        (("rank", "Lt", "9" * 5000), False),
    ],
)
def test_required_node_affinity(rule: tuple[str, ...], fits: bool) -> None:
    assert (said(expression(*rule), SMALL) == []) is fits


def test_reasons_of_several_nodes_are_counted_and_belong_to_the_pool() -> None:
    (only,) = said(memory("8Gi"), SMALL, TAINTED, CORDONED)
    assert only == (
        "spec.pools[1]: no node takes a new pod: 0 of 3 fit (1 node(s) had untolerated taint only,"
        " 1 node(s) were unschedulable, 1 node(s) with less than 9Gi of memory)"
    )


def test_what_pools_share_is_reported_once() -> None:
    pod = {"priorityClassName": "p"}
    needs = [Need(f"spec.pools[{n}]", pod, volume=False) for n in range(3)]
    assert len(obstacles(needs, Inventory(priority_classes={"p": False}))) == 1
    assert priorities(needs) == {"p"}
    assert pull_secrets(needs) == frozenset()
