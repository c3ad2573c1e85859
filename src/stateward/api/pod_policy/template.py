"""The parts of a pod template for the controls, each with its path."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from stateward.api.pod_policy.finding import Path
from stateward.api.values.base import Json

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")

Placed = tuple[Path, Json]
"""An object, and its place."""


def inner(parent: Json, *names: str) -> Json:
    """Return an object inside an object; empty if there is none."""
    found: Any = parent
    for name in names:
        found = cast("Json", found).get(name) if isinstance(found, Mapping) else None
    return cast("Json", found) if isinstance(found, Mapping) else {}


def items(parent: Json, name: str, at: Path) -> Iterator[Placed]:
    """Yield the objects of a list."""
    listed = parent.get(name)
    for i, item in enumerate(cast("list[Any]", listed) if isinstance(listed, list) else ()):
        if isinstance(item, Mapping):
            found = cast("Json", item)
            yield (*at, name, f"[{found.get('name') or i}]"), found


def pod_spec(template: Json) -> Json:
    """Return the spec of the pods."""
    return inner(template, "spec")


def containers(template: Json) -> Iterator[Placed]:
    """Yield the containers of all kinds."""
    for kind in CONTAINERS:
        yield from items(pod_spec(template), kind, ("spec",))


def contexts(template: Json) -> Iterator[Placed]:
    """Yield the security context of the pod, and then that of each container; an empty one if there is none."""
    yield ("spec", "securityContext"), inner(pod_spec(template), "securityContext")
    yield from container_contexts(template)


def container_contexts(template: Json) -> Iterator[Placed]:
    """Yield the security context of each container; an empty one if there is none."""
    for path, container in containers(template):
        yield (*path, "securityContext"), inner(container, "securityContext")


def volumes(template: Json) -> Iterator[Placed]:
    """Yield the volumes."""
    yield from items(pod_spec(template), "volumes", ("spec",))
