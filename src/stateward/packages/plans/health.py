"""Decides whether an object has reached its desired state, as its kind defines it.

A kind without a status is healthy as soon as it exists. An unknown state (a missing status, or one older than the spec)
is not healthy yet.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stateward.api.values.base import GROUP, Json
from stateward.packages.format.trees import at, obj, objs, text
from stateward.packages.rendering.objects import identity_of


class Health(StrEnum):
    """How an object is."""

    HEALTHY = "healthy"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """How an object is, and why in a sentence; FAILED is for good: it will not become healthy by waiting."""

    health: Health
    message: str = ""


HEALTHY = Finding(Health.HEALTHY)
AT_ONCE = frozenset(
    {
        *(("", kind) for kind in ("ConfigMap", "Secret", "Service", "ServiceAccount", "PersistentVolumeClaim")),
        *(("rbac.authorization.k8s.io", f"{scope}Role{what}") for scope in ("", "Cluster") for what in ("", "Binding")),
        *(("networking.k8s.io", kind) for kind in ("Ingress", "NetworkPolicy")),
        ("batch", "CronJob"),
        ("policy", "PodDisruptionBudget"),
    }
)
"""Kinds of objects that are healthy as soon as they exist.

A claim is one: with a class that waits for the first pod it is bound only after a later step has created that pod.
"""


def health_of(body: Json) -> Finding:
    """Return how a live object is."""
    identity = identity_of(body)
    if at(body, "metadata", "deletionTimestamp") is not None:
        return Finding(Health.WAITING, f"{identity} is being deleted")
    place = (identity.group, identity.kind)
    judge = _at_once if place in AT_ONCE else _JUDGES.get(place, _custom)
    health, message = judge(body)
    return Finding(health, f"{identity}: {message}" if message else "")


_Said = tuple[Health, str]
_WELL: _Said = (Health.HEALTHY, "")


def _number(body: Json, *path: str, default: int = 0) -> int:
    value = at(body, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _outdated(body: Json) -> bool:
    return _number(body, "status", "observedGeneration") < _number(body, "metadata", "generation")


_NOT_SEEN: _Said = (Health.WAITING, "its controller has not observed the last change yet")


def _condition(body: Json, kind: str) -> Json:
    found = [condition for condition in objs(at(body, "status", "conditions")) if condition.get("type") == kind]
    return found[0] if found else {}


def _deployment(body: Json) -> _Said:
    if _outdated(body):
        return _NOT_SEEN
    wanted = _number(body, "spec", "replicas", default=1)
    progressing = _condition(body, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return Health.WAITING, f"makes no progress: {text(progressing.get('message'))}"
    updated, ready = _number(body, "status", "updatedReplicas"), _number(body, "status", "availableReplicas")
    if updated < wanted:
        return Health.WAITING, f"{updated} of {wanted} pods are new"
    if (beyond := _number(body, "status", "replicas") - wanted) > 0:
        return Health.WAITING, f"{beyond} old pods still exist"
    return _WELL if ready >= wanted else (Health.WAITING, f"{ready} of {wanted} pods are available")


def _stateful_set(body: Json) -> _Said:
    if _outdated(body):
        return _NOT_SEEN
    wanted = _number(body, "spec", "replicas", default=1)
    ready = _number(body, "status", "readyReplicas")
    if ready < wanted:
        return Health.WAITING, f"{ready} of {wanted} pods are ready"
    if (beyond := _number(body, "status", "replicas") - wanted) > 0:
        return Health.WAITING, f"{beyond} old pods still exist"  # The next step may need them to be gone.
    if text(at(body, "spec", "updateStrategy", "type")) == "OnDelete":
        return _WELL  # Who asked for this restarts the pods himself.
    partition = _number(body, "spec", "updateStrategy", "rollingUpdate", "partition")
    updated = _number(body, "status", "updatedReplicas")
    revision = at(body, "status", "updateRevision")
    if partition == 0 and revision and revision == at(body, "status", "currentRevision"):
        return _WELL
    least = max(0, wanted - partition)
    return _WELL if updated >= least else (Health.WAITING, f"{updated} of {least} pods are new")


def _daemon_set(body: Json) -> _Said:
    if _outdated(body):
        return _NOT_SEEN
    wanted = _number(body, "status", "desiredNumberScheduled")
    if text(at(body, "spec", "updateStrategy", "type")) != "OnDelete":
        updated = _number(body, "status", "updatedNumberScheduled")
        if updated < wanted:
            return Health.WAITING, f"{updated} of {wanted} pods are new"
    ready = _number(body, "status", "numberAvailable")
    return _WELL if ready >= wanted else (Health.WAITING, f"{ready} of {wanted} pods are available")


def _job(body: Json) -> _Said:
    failed = _condition(body, "Failed")
    if failed.get("status") == "True":
        return Health.FAILED, f"has failed: {text(failed.get('message')) or text(failed.get('reason'))}"
    if _condition(body, "Complete").get("status") == "True":
        return _WELL
    succeeded = _number(body, "status", "succeeded")
    if at(body, "spec", "completions") is None and _number(body, "spec", "parallelism") > 1:
        # Pods that share a queue: the first one that ends says nothing of the others.
        return Health.WAITING, f"{succeeded} pods are done, and the others still run"
    wanted = _number(body, "spec", "completions", default=1)
    return _WELL if succeeded >= wanted > 0 else (Health.WAITING, f"{succeeded} of {wanted} completions")


def _pod(body: Json) -> _Said:
    phase = text(at(body, "status", "phase"))
    if phase == "Succeeded":
        return _WELL
    if phase == "Failed":
        return Health.FAILED, f"has failed: {text(at(body, 'status', 'message')) or 'its containers ended'}"
    ready = _condition(body, "Ready")
    if ready.get("status") == "True":
        return _WELL
    return Health.WAITING, f"is {phase or 'not started'}: {text(ready.get('message')) or 'not ready'}"


def _namespace(body: Json) -> _Said:
    phase = text(at(body, "status", "phase"))
    return _WELL if phase == "Active" else (Health.WAITING, f"is {phase or 'not active yet'}")


def _definition(body: Json) -> _Said:
    if _condition(body, "NamesAccepted").get("status") == "False":
        return Health.FAILED, f"its names are not accepted: {text(_condition(body, 'NamesAccepted').get('message'))}"
    established = _condition(body, "Established").get("status") == "True"
    return _WELL if established else (Health.WAITING, "is not established yet")


def _at_once(_body: Json) -> _Said:
    return _WELL


def _ours(body: Json) -> _Said:
    """Judge a resource of Stateward: one without conditions has not been observed yet."""
    return _custom(body) if _condition(body, "Ready") else _NOT_SEEN


def _custom(body: Json) -> _Said:
    """Judge a custom resource by the convention of kstatus: Stalled, Reconciling, Ready and observedGeneration."""
    status = obj(body.get("status"))
    if "observedGeneration" in status and _outdated(body):
        return _NOT_SEEN
    stalled = _condition(body, "Stalled")
    if stalled.get("status") == "True":
        return Health.WAITING, f"is stalled: {text(stalled.get('message'))}"
    reconciling = _condition(body, "Reconciling")
    if reconciling.get("status") == "True":
        return Health.WAITING, text(reconciling.get("message")) or "is being reconciled"
    ready = _condition(body, "Ready")
    if ready and ready.get("status") != "True":
        return Health.WAITING, text(ready.get("message")) or "is not ready"
    return _WELL


_JUDGES: Mapping[tuple[str, str], Callable[[Any], _Said]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "Namespace"): _namespace,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    (GROUP, "Installation"): _ours,
    **{(GROUP, f"{engine}Cluster"): _ours for engine in ("OpenSearch", "Elasticsearch", "FoundationDB")},
}
"""Kinds with a rule of their own; every other one is judged by what its conditions say, if it has any."""
