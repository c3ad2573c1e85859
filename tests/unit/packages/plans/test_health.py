"""Whether objects match their specs, kind by kind."""

# The cases are a table.
# ruff: noqa: E501

from typing import Any

import pytest

from stateward.packages.plans.health import Health, health_of


def body(
    kind: str, version: str = "apps/v1", status: Any = None, spec: Any = None, generation: int = 2
) -> dict[str, Any]:
    meta = {"name": "x", "generation": generation}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec or {}, "status": status or {}}


def seen(**status: Any) -> dict[str, Any]:
    return {"observedGeneration": 2, **status}


def condition(kind: str, status: str = "True", **more: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, **more}]}


ROLLED = seen(replicas=3, updatedReplicas=3, availableReplicas=3, readyReplicas=3)
THREE = {"replicas": 3}
CASES = {
    "search cluster not yet observed": (body("OpenSearchCluster", "stateward.dev/v1alpha1"), Health.WAITING, "not observed"),
    "elastic cluster not yet observed": (body("ElasticsearchCluster", "stateward.dev/v1alpha1"), Health.WAITING, "not observed"),
    "key-value cluster not yet observed": (body("FoundationDBCluster", "stateward.dev/v1alpha1"), Health.WAITING, "not observed"),
    "deployment rolled out": (body("Deployment", status=ROLLED, spec=THREE), Health.HEALTHY, ""),
    "deployment not seen": (body("Deployment", status={**ROLLED, "observedGeneration": 1}, spec=THREE), Health.WAITING, "not observed"),
    "deployment without status": (body("Deployment", spec=THREE), Health.WAITING, "not observed"),
    "deployment half new": (body("Deployment", status={**ROLLED, "updatedReplicas": 1}, spec=THREE), Health.WAITING, "1 of 3 pods are new"),
    "deployment with old pods": (body("Deployment", status={**ROLLED, "replicas": 4}, spec=THREE), Health.WAITING, "1 old pods"),
    "deployment that shrinks": (body("Deployment", status=seen(replicas=5, updatedReplicas=5, availableReplicas=5), spec=THREE), Health.WAITING, "2 old pods"),
    "deployment not available": (body("Deployment", status={**ROLLED, "availableReplicas": 2}, spec=THREE), Health.WAITING, "2 of 3"),
    "deployment of none": (body("Deployment", status=seen(), spec={"replicas": 0}), Health.HEALTHY, ""),
    "set rolled out": (body("StatefulSet", status={**ROLLED, "currentRevision": "a", "updateRevision": "a"}, spec=THREE), Health.HEALTHY, ""),
    "set that shrinks": (
        body("StatefulSet", status=seen(replicas=5, updatedReplicas=5, readyReplicas=5, currentRevision="a", updateRevision="a"), spec=THREE),
        Health.WAITING,
        "2 old pods",
    ),
    "set on delete that shrinks": (
        body("StatefulSet", status=seen(replicas=4, readyReplicas=3), spec={**THREE, "updateStrategy": {"type": "OnDelete"}}),
        Health.WAITING,
        "1 old pods",
    ),
    "set not ready": (body("StatefulSet", status={**ROLLED, "readyReplicas": 1}, spec=THREE), Health.WAITING, "1 of 3 pods are ready"),
    "set half new": (
        body("StatefulSet", status={**ROLLED, "updatedReplicas": 1, "currentRevision": "a", "updateRevision": "b"}, spec=THREE),
        Health.WAITING,
        "1 of 3 pods are new",
    ),
    "set with a partition": (
        body("StatefulSet", status={**ROLLED, "updatedReplicas": 1, "currentRevision": "a", "updateRevision": "b"},
             spec={**THREE, "updateStrategy": {"rollingUpdate": {"partition": 2}}}),
        Health.HEALTHY,
        "",
    ),
    "set on delete": (
        body("StatefulSet", status={**ROLLED, "updatedReplicas": 0}, spec={**THREE, "updateStrategy": {"type": "OnDelete"}}),
        Health.HEALTHY,
        "",
    ),
    "daemons": (body("DaemonSet", status=seen(desiredNumberScheduled=2, updatedNumberScheduled=2, numberAvailable=2)), Health.HEALTHY, ""),
    "daemons not there": (body("DaemonSet", status=seen(desiredNumberScheduled=2, updatedNumberScheduled=2)), Health.WAITING, "0 of 2"),
    "job complete": (body("Job", "batch/v1", condition("Complete")), Health.HEALTHY, ""),
    "job succeeded": (body("Job", "batch/v1", {"succeeded": 1}), Health.HEALTHY, ""),
    "job running": (body("Job", "batch/v1", {"active": 1}), Health.WAITING, "0 of 1 completions"),
    "job with a queue": (body("Job", "batch/v1", {"active": 2, "succeeded": 1}, {"parallelism": 3}), Health.WAITING, "1 pods are done"),
    "job with a queue complete": (body("Job", "batch/v1", {"succeeded": 3, **condition("Complete")}, {"parallelism": 3}), Health.HEALTHY, ""),
    "job of three": (body("Job", "batch/v1", {"succeeded": 3}, {"parallelism": 3, "completions": 3}), Health.HEALTHY, ""),
    "job failed": (body("Job", "batch/v1", condition("Failed", message="BackoffLimit")), Health.FAILED, "BackoffLimit"),
    "pod ready": (body("Pod", "v1", {"phase": "Running", **condition("Ready")}), Health.HEALTHY, ""),
    "pod over": (body("Pod", "v1", {"phase": "Succeeded"}), Health.HEALTHY, ""),
    "pod failed": (body("Pod", "v1", {"phase": "Failed"}), Health.FAILED, "has failed"),
    "pod pending": (body("Pod", "v1", {"phase": "Pending"}), Health.WAITING, "is Pending"),
    "pod without status": (body("Pod", "v1"), Health.WAITING, "not started"),
    "namespace": (body("Namespace", "v1", {"phase": "Active"}), Health.HEALTHY, ""),
    "definition": (body("CustomResourceDefinition", "apiextensions.k8s.io/v1", condition("Established")), Health.HEALTHY, ""),
    "definition new": (body("CustomResourceDefinition", "apiextensions.k8s.io/v1"), Health.WAITING, "not established"),
    "service": (body("Service", "v1"), Health.HEALTHY, ""),
    "claim": (body("PersistentVolumeClaim", "v1", {"phase": "Pending"}), Health.HEALTHY, ""),
    "custom that says nothing": (body("Thing", "x.dev/v1"), Health.HEALTHY, ""),
    "custom ready": (body("Thing", "x.dev/v1", seen(**condition("Ready"))), Health.HEALTHY, ""),
    "custom not ready": (body("Thing", "x.dev/v1", condition("Ready", "False", message="soon")), Health.WAITING, "soon"),
    "custom unknown": (body("Thing", "x.dev/v1", condition("Ready", "Unknown")), Health.WAITING, "is not ready"),
    "custom stalled": (body("Thing", "x.dev/v1", condition("Stalled", message="disk")), Health.WAITING, "is stalled: disk"),
    "custom not seen": (body("Thing", "x.dev/v1", {"observedGeneration": 1, **condition("Ready")}), Health.WAITING, "not observed"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_kind_is_judged_as_it_defines_itself(case: str) -> None:
    found, health, words = CASES[case]
    finding = health_of(found)
    assert finding.health is health
    assert words in finding.message


def test_an_object_that_is_being_deleted_does_not_count_as_existing() -> None:
    going = body("Service", "v1")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert health_of(going).health is Health.WAITING


def test_a_finding_names_the_object() -> None:
    assert health_of(body("Pod", "v1")).message.startswith("Pod x: is ")
