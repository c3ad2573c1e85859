"""What has to be true of an installation: at each write, and compared with a new installation of the same values."""

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from stateward.packages.format.parameters import resolve
from stateward.packages.format.reading import read_package
from stateward.packages.plans.steps import LABEL_PART_OF
from stateward.packages.restarts.dependencies import dependencies
from stateward.simulation.apiserver.store import Event, Stored
from tests.unit.operator.installations.search.users import User
from tests.unit.operator.installations.world import World

REASON, DIGEST = "stateward.dev/restart-reason", "stateward.dev/restart-digest"
UNCOMPARED = {("Pod", "web-pipe-pp"), ("Job", "j0"), ("Job", "j1"), ("ConfigMap", "b0"), ("ConfigMap", "web-inner-in")}
"""What depends on the plans that ran; claims are kept, and the inner installation does not follow newer packages."""
Objects = Mapping[tuple[str, str], dict[str, Any]]


class Truth:
    """Checks each write: Ready only when true, and no reason of a restart without a restart."""

    def __init__(self, world: World, user: User) -> None:
        self.user = user
        self.lies: list[str] = []
        world.store.subscribers.append(self.heard)

    def heard(self, kind: str, event: Event) -> None:
        if event.new is None:
            return
        before, after = (x and x.meta.get("labels", {}).get(LABEL_PART_OF) for x in (event.old, event.new))
        if before and before != after:
            self.lies.append(f"{event.new.key.name} of {before} is taken by {after}")
        if kind == "stateward.dev/swinstallations" and event.new.key.name == "web":
            self.lies.extend(self.untrue(event.new.doc))
        elif kind in {"apps/deployments", "apps/statefulsets"} and event.old is not None:
            before, after = (x.meta.get("annotations", {}).get(REASON) for x in (event.old, event.new))
            if after and before != after and template(event.old.doc) == template(event.new.doc):
                self.lies.append(f"{event.new.key.name} has reason {after}, and did not restart")

    def untrue(self, body: dict[str, Any]) -> list[str]:
        """Return what is wrong with the conditions of an installation."""
        status, spec = body.get("status", {}), body["spec"]
        true = {c["type"] for c in status.get("conditions", []) if c["status"] == "True"}
        if {"Reconciling", "Stalled"} <= true:
            return ["Reconciling and Stalled"]
        if "Ready" not in true or status["observedGeneration"] != body["metadata"]["generation"]:
            return []
        if "deletionTimestamp" in body["metadata"]:
            return ["Ready while it is deleted"]
        installed, package = status["installed"], read_package(self.user.packages[spec["package"]])
        if package.digest != installed["digest"]:
            return [f"Ready with {installed['package']} instead of {spec['package']}"]
        known = {k: v for k, v in spec.get("parameters", {}).items() if k in package.parameters}
        wanted, given = resolve(package, known), resolve(package, installed.get("parameters", {}))
        wrong = {k: given.get(k) for k, v in wanted.items() if v != given.get(k) and k != self.user.family.immutable}
        return [f"Ready with {wrong}"] if wrong else []


def template(body: Mapping[str, Any], *, digest: bool = True) -> dict[str, Any]:
    """Return the pod template of a workload, with or without what restart control writes there."""
    found = deepcopy(body["spec"]["template"])
    if not digest:
        found["metadata"].get("annotations", {}).pop(DIGEST, None)
    return without_empty(found)


def without_empty(value: Any) -> Any:
    """Return a value without empty fields, and with lists of named things in the order of their names."""
    if isinstance(value, dict):
        return {k: inner for k, v in value.items() if (inner := without_empty(v)) not in ([], {}, None)}
    if isinstance(value, list):
        inner = [without_empty(v) for v in value]
        return sorted(inner, key=named)
    return value


def named(value: Any) -> str:
    return str(value.get("name", "")) if isinstance(value, dict) else ""


def essence(doc: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a package says of an object; what others have added on purpose does not count."""
    body = deepcopy({k: v for k, v in doc.items() if k != "status"})
    labels = {k: v for k, v in body["metadata"].get("labels", {}).items() if k != "mine"}
    body["metadata"] = {"name": body["metadata"]["name"], "labels": labels}
    if "data" in body:
        body["data"] = {k: v for k, v in body["data"].items() if v not in {"hacked", "aGFja2Vk"} and k != "foreign"}
    if "template" in body.get("spec", {}):
        body["spec"]["template"] = template(body, digest=False)
    return without_empty(body)


def difference(wanted: Mapping[tuple[str, str], Stored], found: Mapping[tuple[str, str], Stored]) -> list[Any]:
    """Return how objects differ from those of a new installation."""
    told: list[Any] = []
    for key in sorted(set(wanted) | set(found)):
        if key in UNCOMPARED or (key not in wanted and key[0] == "PersistentVolumeClaim"):
            continue
        if key not in found or key not in wanted:
            told.append(("missing" if key in wanted else "left", key))
            continue
        old, new = essence(wanted[key].doc), essence(found[key].doc)
        if key[0] == "Installation":
            old, new = old["spec"].get("parameters"), new["spec"].get("parameters")
        if old != new:
            told.append(("differs", key, old, new))
    return told


def check_restarts(before: Objects, after: Objects, rollouts: Mapping[str, int]) -> None:
    """Check that workloads restarted if, and only if, their template or data that they use has changed."""
    for key in sorted(set(before) & set(after)):
        if key[0] not in {"Deployment", "StatefulSet"}:
            continue
        new, count = after[key], rollouts.get(key[1], 0)
        edited = template(before[key], digest=False) != template(new, digest=False)
        pairs = {d: (data(before, d), data(after, d)) for d in dependencies(new)}
        changed = {d.name for d, pair in pairs.items() if None not in pair and pair[0] != pair[1]}
        back = any(pair[0] is None and pair[1] is not None for pair in pairs.values())  # it may be other data than once
        assert count or not (edited or changed), f"{key} did not restart: template {edited}, data of {changed}"
        assert edited or changed or back or not count, f"{key} restarted {count} times without a reason"
        most = edited + len(changed) + back  # each may be in a step of its own
        assert count <= most, f"{key} restarted {count} times: template {edited}, data of {changed}"


def data(objects: Objects, dependency: Any) -> str | None:
    """Return the data of a ConfigMap or Secret that a workload uses; None if there is none."""
    source = objects.get((dependency.kind, dependency.name))
    if source is None:
        return None
    found = source.get("data", {})
    return found.get(dependency.key) if dependency.key else json.dumps(found, sort_keys=True)


def check_jobs(before: Objects, after: Objects, created: Mapping[str, int]) -> None:
    """Check that a Job ran once if it is rendered differently, and not at all otherwise."""
    for kind, name in sorted(set(before) & set(after)):
        if kind == "Job":
            old, new, count = essence(before[kind, name]), essence(after[kind, name]), created.get(name, 0)
            assert count == (old != new), f"Job {name} ran {count} times: {old} {new}"
