"""The controls that the level restricted has beside those of baseline: what is best practice for a hardened pod."""

from collections.abc import Iterator
from typing import Any

from stateward.api.pod_policy.baseline import PROFILES, Control
from stateward.api.pod_policy.finding import Finding, Path
from stateward.api.pod_policy.template import container_contexts, contexts, inner, pod_spec, volumes
from stateward.api.values.base import Json

VOLUMES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
"""Kinds of volumes that may be used; a volume without a kind is an emptyDir."""
BIND = "NET_BIND_SERVICE"


def volume_types(template: Json) -> Iterator[Finding]:
    """Yield volumes of other kinds than these."""
    for path, volume in volumes(template):
        for kind, value in volume.items():
            if kind not in (*VOLUMES, "name") and value is not None:
                yield Finding((*path, kind), value, f"cannot be used; volumes may be {', '.join(VOLUMES)}")


def privilege_escalation(template: Json) -> Iterator[Finding]:
    """Yield containers whose processes may get more rights than the process that started them."""
    for path, context in container_contexts(template):
        value = context.get("allowPrivilegeEscalation")
        if value is not False:
            yield Finding((*path, "allowPrivilegeEscalation"), value, "must be false")


def non_root(template: Json) -> Iterator[Finding]:
    """Yield containers that the kubelet would let run as root."""
    pod = inner(pod_spec(template), "securityContext").get("runAsNonRoot")
    if pod is not None and pod is not True:
        yield Finding(("spec", "securityContext", "runAsNonRoot"), pod, "must be true, or left out")
    for path, context in container_contexts(template):
        value = context.get("runAsNonRoot")
        if value is not True and (value is not None or pod is not True):
            yield Finding((*path, "runAsNonRoot"), value, "must be true, here or for the whole pod")


def user(template: Json) -> Iterator[Finding]:
    """Yield fields that name root as the user."""
    for path, context in contexts(template):
        value = context.get("runAsUser")
        if value is not None and value == 0:
            yield Finding((*path, "runAsUser"), value, "must be a user other than 0")


def seccomp_set(template: Json) -> Iterator[Finding]:
    """Yield containers for which no profile of seccomp is named; a wrong one is what baseline finds."""
    pod = inner(pod_spec(template), "securityContext").get("seccompProfile")
    for path, context in container_contexts(template):
        if context.get("seccompProfile") is None and not _confines(pod):
            yield Finding((*path, "seccompProfile", "type"), None, _EITHER)


_EITHER = f"must be {' or '.join(PROFILES)}, here or for the whole pod"


def _confines(value: Any) -> bool:
    return inner({"profile": value}, "profile").get("type") in PROFILES


def capabilities_dropped(template: Json) -> Iterator[Finding]:
    """Yield containers that keep capabilities, or add others than that to bind low ports."""
    for path, context in container_contexts(template):
        yield from _capabilities((*path, "capabilities"), inner(context, "capabilities"))


def _capabilities(path: Path, capabilities: Json) -> Iterator[Finding]:
    if "ALL" not in (capabilities.get("drop") or ()):
        yield Finding((*path, "drop"), capabilities.get("drop"), 'must have "ALL" in it')
    for name in capabilities.get("add") or ():
        if name != BIND:
            yield Finding((*path, "add"), name, f"must be {BIND}, or left out")


RESTRICTED: tuple[Control, ...] = (
    volume_types,
    privilege_escalation,
    non_root,
    user,
    seccomp_set,
    capabilities_dropped,
)
