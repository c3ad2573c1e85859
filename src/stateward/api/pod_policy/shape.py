"""Checks that a pod template has the shape that the controls expect.

The API server refuses a list where it expects an object. It is refused here as well, so no control depends on that.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from stateward.api.pod_policy.finding import Finding, Path
from stateward.api.pod_policy.template import CONTAINERS, HOOKS, PROBES
from stateward.api.values.base import Json

Shape = dict[str, Any]
"""The fields of an object that are objects (a shape), lists of objects (a list with a shape), or texts (a type)."""

_HANDLER: Shape = {"httpGet": {"host": str}, "tcpSocket": {"host": str}}
_CONTEXT: Shape = {
    "windowsOptions": {},
    "seLinuxOptions": {"type": str, "user": str, "role": str},
    "seccompProfile": {"type": str},
    "appArmorProfile": {"type": str},
}
_CONTAINER: Shape = {
    "name": str,
    "securityContext": {**_CONTEXT, "capabilities": {"add": [str], "drop": [str]}, "procMount": str},
    "ports": [{}],
    "env": [{"valueFrom": {"secretKeyRef": {"name": str}}}],
    "envFrom": [{"secretRef": {"name": str}}],
    **dict.fromkeys(PROBES, _HANDLER),
    "lifecycle": dict.fromkeys(HOOKS, _HANDLER),
}
_OBJECT: Shape = {"kind": str, "name": str, "apiGroup": str, "namespace": str}
_VOLUME: Shape = {
    "name": str,
    "secret": {"secretName": str},
    "persistentVolumeClaim": {"claimName": str},
    "projected": {"sources": [{"secret": {"name": str}}]},
    "csi": {"nodePublishSecretRef": {"name": str}, "volumeAttributes": {"secretProviderClass": str}},
    "ephemeral": {
        "volumeClaimTemplate": {"spec": {"volumeName": str, "dataSource": _OBJECT, "dataSourceRef": _OBJECT}}
    },
}
_TEMPLATE: Shape = {
    "metadata": {"labels": {}, "annotations": {}},
    "spec": {
        "serviceAccountName": str,
        "serviceAccount": str,
        "securityContext": {**_CONTEXT, "sysctls": [{"name": str}]},
        "volumes": [_VOLUME],
        "imagePullSecrets": [{"name": str}],
        "resourceClaims": [{"name": str, "resourceClaimName": str}],
        **{kind: [_CONTAINER] for kind in CONTAINERS},
    },
}


def malformed(template: Json) -> Iterator[Finding]:
    """Yield what has not the shape that Kubernetes gives it."""
    yield from _object(_TEMPLATE, template, ())


def _value(shape: Any, value: Any, at: Path) -> Iterator[Finding]:
    if value is None:
        return
    if shape is str:
        if not isinstance(value, str):
            yield Finding(at, value, "must be text")
    elif isinstance(shape, list):
        yield from _list(cast("list[Any]", shape)[0], value, at)
    else:
        yield from _object(shape, value, at)


def _object(shape: Shape, value: Any, at: Path) -> Iterator[Finding]:
    if not isinstance(value, Mapping):
        yield Finding(at, value, "must be an object")
        return
    for name, expected in shape.items():
        yield from _value(expected, cast("Json", value).get(name), (*at, name))


def _list(shape: Any, value: Any, at: Path) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield Finding(at, value, "must be a list")
        return
    for i, item in enumerate(cast("list[Any]", value)):
        if item is None:
            yield Finding((*at, f"[{i}]"), item, "must not be empty")
        named = cast("Json", item).get("name") if isinstance(item, Mapping) else None
        yield from _value(shape, item, (*at, f"[{named or i}]"))
