"""Checks, before a change is applied, whether a new pod finds a node and whether the objects that it names exist.

Findings are warnings and never refusals: a node or a class may be added later, and an autoscaler may add a node for
this very pod. What could not be read is `None`, and causes no finding.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from stateward.api.values.problem import Problem, Severity
from stateward.api.values.quantity import QuantityError, format_quantity, parse_bytes, parse_quantity

Json = Mapping[str, Any]

HARD = ("NoSchedule", "NoExecute")
"""Effects of taints that keep pods away."""
_NUMBER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
"""A whole number of Kubernetes, which has 64 bits."""


class Machine(Struct, frozen=True):
    """What the scheduler uses of a Kubernetes node; memory in bytes, CPU in millicores, None if unknown."""

    name: str
    labels: Mapping[str, str] = {}
    taints: tuple[tuple[str, str, str], ...] = ()
    """Key, value and effect of each."""
    unschedulable: bool = False
    memory: int | None = None
    cpu: int | None = None


class Inventory(Struct, frozen=True):
    """The objects on the server that new pods may name or need; None if they could not be read."""

    machines: tuple[Machine, ...] | None = None
    storage_classes: Mapping[str, bool] | None = None
    """Storage classes by name, and whether each is the default."""
    priority_classes: Mapping[str, bool] = {}
    """Whether each requested priority class exists, by name; without those that could not be read."""
    pull_secrets: Mapping[str, bool] = {}
    """The same for Secrets with credentials of registries."""


class Need(Struct, frozen=True):
    """The needs of one pool's pods: the path of the pool in the spec, the pod, and the storage class."""

    path: str
    pod: Json
    """`spec` of the pods."""
    own: Json = {}
    """`spec` of the pool's own pod template; other fields come from the cluster's template."""
    volume: bool = True
    storage_class: str | None = None


def priorities(needs: Sequence[Need]) -> frozenset[str]:
    """Return the names of the priority classes that the pods name."""
    return frozenset(need.pod["priorityClassName"] for need in needs if need.pod.get("priorityClassName"))


def pull_secrets(needs: Sequence[Need]) -> frozenset[str]:
    """Return the names of the Secrets with which the pods' images are pulled."""
    return frozenset(s["name"] for need in needs for s in _items(need.pod, "imagePullSecrets") if s.get("name"))


def obstacles(needs: Sequence[Need], inventory: Inventory) -> tuple[Problem, ...]:
    """Return what keeps new pods from starting, as warnings on the fields that cause it."""
    found = [problem for need in needs for problem in _of_pool(need, inventory)]
    return tuple({(p.path, p.message): p for p in found}.values())


def _of_pool(need: Need, inventory: Inventory) -> list[Problem]:
    found = [*_storage(need, inventory), *_named(need, inventory)]
    if inventory.machines:
        problem = _nodes(need, inventory.machines)
        found += [problem] if problem is not None else []
    return found


def _storage(need: Need, inventory: Inventory) -> list[Problem]:
    classes = inventory.storage_classes
    if classes is None or not need.volume:
        return []
    path, known = f"{need.path}.storage.storageClass", ", ".join(sorted(classes)) or "none"
    if need.storage_class is None:
        text = f"no storage class is named, and none is the default; the server has: {known}"
        return [] if any(classes.values()) else [_warning(path, None, text)]
    if need.storage_class in classes:
        return []
    return [_warning(path, need.storage_class, f"there is no such storage class; the server has: {known}")]


def _named(need: Need, inventory: Inventory) -> list[Problem]:
    found: list[Problem] = []
    priority = need.pod.get("priorityClassName", "")
    if inventory.priority_classes.get(priority) is False:
        text = "there is no such priority class, so the API server refuses the pods"
        found.append(_warning(_template(need, "priorityClassName"), priority, text))
    for secret in _items(need.pod, "imagePullSecrets"):
        name = secret.get("name", "")
        if inventory.pull_secrets.get(name) is False:
            text = "there is no such Secret in the namespace, so images are pulled without it"
            found.append(_warning(_template(need, "imagePullSecrets"), name, text))
    return found


def _nodes(need: Need, machines: Sequence[Machine]) -> Problem | None:
    verdicts = [_refusal(need.pod, machine) for machine in machines]
    if not all(text for _, text in verdicts):
        return None
    fields, counts = Counter(field for field, _ in verdicts), Counter(text for _, text in verdicts)
    reasons = ", ".join(f"{count} {text}" for text, count in sorted(counts.items()))
    field = next(iter(fields)) if len(fields) == 1 else ""
    path = f"{need.path}.resources" if field == "resources" else _template(need, field) if field else need.path
    return _warning(path, None, f"no node takes a new pod: 0 of {len(machines)} fit ({reasons})")


def _refusal(pod: Json, machine: Machine) -> tuple[str, str]:
    """Return which field of a pod a node does not satisfy, and how, in the scheduler's words; empty when it does."""
    if machine.unschedulable and not _tolerated(pod, ("node.kubernetes.io/unschedulable", "", "NoSchedule")):
        return "", "node(s) were unschedulable"
    taint = next((t for t in machine.taints if t[2] in HARD and not _tolerated(pod, t)), None)
    if taint is not None:
        return "tolerations", f"node(s) had untolerated taint {taint[0]}"
    selector = _part(pod, "nodeSelector")
    if any(machine.labels.get(name) != value for name, value in selector.items()):
        return (
            "nodeSelector",
            f"node(s) without the labels {', '.join(f'{k}={v}' for k, v in sorted(selector.items()))}",
        )
    if not _affine(pod, machine):
        return "affinity", "node(s) didn't match the required node affinity"
    return _too_small(pod, machine)


def _too_small(pod: Json, machine: Machine) -> tuple[str, str]:
    memory, cpu = _requested(pod, "memory"), _requested(pod, "cpu")
    if machine.memory is not None and memory > machine.memory:
        return "resources", f"node(s) with less than {format_quantity(memory)} of memory"
    if machine.cpu is not None and cpu > machine.cpu:
        return "resources", f"node(s) with less than {cpu}m of CPU"
    return "", ""


def _requested(pod: Json, resource: str) -> int:
    """Return what all containers of a pod request, in bytes or millicores; a limit alone is a request as well."""
    total = 0
    for container in _items(pod, "containers"):
        resources = _part(container, "resources")
        asked = _part(resources, "requests").get(resource) or _part(resources, "limits").get(resource)
        try:
            total += (parse_bytes(str(asked)) if resource == "memory" else cores(str(asked))) if asked else 0
        except QuantityError:
            continue  # The validation of the spec says so.
    return total


def cores(text: str) -> int:
    """Return a quantity of CPU in millicores, rounded up; raises QuantityError."""
    return -int(-parse_quantity(text) * 1000 // 1)


def _tolerated(pod: Json, taint: tuple[str, str, str]) -> bool:
    """Return whether a pod tolerates a taint; with an unknown operator, and those that compare numbers, it does."""
    key, value, effect = taint
    for toleration in _items(pod, "tolerations"):
        named = toleration.get("key", "")
        any_value = toleration.get("operator", "Equal") not in ("", "Equal")
        if toleration.get("effect", "") not in ("", effect) or (named != key and (named or not any_value)):
            continue
        if any_value or toleration.get("value", "") == value:
            return True
    return False


def _affine(pod: Json, machine: Machine) -> bool:
    node = _part(_part(pod, "affinity"), "nodeAffinity")
    terms = _items(_part(node, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms")
    return not terms or any(_matches(term, machine) for term in terms)


def _matches(term: Json, machine: Machine) -> bool:
    labels = all(_holds(rule, machine.labels) for rule in _items(term, "matchExpressions"))
    return labels and all(_holds(rule, {"metadata.name": machine.name}) for rule in _items(term, "matchFields"))


def _holds(rule: Json, labels: Mapping[str, str]) -> bool:
    """Return whether a node selector requirement holds; an unknown operator counts as holding."""
    found, values = labels.get(rule.get("key", "")), rule.get("values") or ()
    match rule.get("operator"):
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt" as operator if values:
            numbers = [int(text) for text in (found or "", str(values[0])) if _NUMBER.fullmatch(text)]
            return len(numbers) == 2 and (numbers[0] > numbers[1] if operator == "Gt" else numbers[0] < numbers[1])
        case _:
            return True


def _part(holder: Json, name: str) -> Json:
    return cast("Json", holder.get(name) or {})


def _items(holder: Json, name: str) -> Sequence[Json]:
    return cast("Sequence[Json]", holder.get(name) or ())


def _template(need: Need, field: str) -> str:
    """Return the path of a pod's field: in the pool's template, or else in the cluster's."""
    holder = need.path if field in need.own else "spec"
    return f"{holder}.podTemplate.spec.{field}"


def _warning(path: str, value: object, message: str) -> Problem:
    return Problem(path, value, message, Severity.WARNING)
