"""Converts API versions that Kubernetes has removed to those that it serves.

Packages outlive API versions. Each conversion follows the deprecation guide of Kubernetes, and no more: a field without
a successor is left for the API server to refuse, because dropping it would change what the package asks for.
"""

from collections.abc import Callable, Mapping
from typing import Any

from stateward.api.values.base import Json
from stateward.packages.format.trees import at, obj, objs

Conversion = Callable[[Json], Json]
_Table = Mapping[tuple[str, str], tuple[str, Conversion]]


def convert(body: Json) -> tuple[Json, str]:
    """Return an object in a served version, and a sentence about the conversion; empty if there was none."""
    version, kind = str(body["apiVersion"]), str(body["kind"])
    found = _CONVERSIONS.get((version, kind))
    if found is None:
        return body, ""
    successor, change = found
    return {**change(body), "apiVersion": successor}, f"{version} {kind} is applied as {successor}"


def _same(body: Json) -> Json:
    return body


def _selected(body: Json) -> Json:
    """`apps/v1` requires a selector; the older versions took it from the template's labels."""
    spec = dict(obj(body.get("spec")))
    labels = obj(at(spec, "template", "metadata", "labels"))
    if "selector" not in spec and labels:
        spec["selector"] = {"matchLabels": labels}
    spec.pop("rollbackTo", None)
    return {**body, "spec": spec}


def _ingress(body: Json) -> Json:
    spec = dict(obj(body.get("spec")))
    if "backend" in spec:
        spec["defaultBackend"] = _backend(spec.pop("backend"))
    if "rules" in spec:
        spec["rules"] = [_rule(rule) for rule in objs(spec["rules"])]
    return {**body, "spec": spec}


def _rule(rule: Json) -> Json:
    http = obj(rule.get("http"))
    if not http:
        return rule
    return {**rule, "http": {**http, "paths": [_path(path) for path in objs(http.get("paths"))]}}


def _path(path: Json) -> Json:
    return {"pathType": "ImplementationSpecific", **path, "backend": _backend(obj(path.get("backend")))}


def _backend(old: Json) -> Json:
    if "serviceName" not in old:
        return old
    port: Any = old.get("servicePort")
    return {"service": {"name": old["serviceName"], "port": {"number" if isinstance(port, int) else "name": port}}}


def _definition(body: Json) -> Json:
    """`apiextensions.k8s.io/v1` has schema, columns and subresources in each version."""
    spec = dict(obj(body.get("spec")))
    shared = {
        field: spec.pop(field) for field in ("validation", "subresources", "additionalPrinterColumns") if field in spec
    }
    name = spec.pop("version", None)
    versions = objs(spec.get("versions")) or ([{"name": name, "served": True, "storage": True}] if name else [])
    spec["versions"] = [_version(version, shared) for version in versions]
    if spec.pop("preserveUnknownFields", None):
        spec["preserveUnknownFields"] = False
    return {**body, "spec": spec}


def _version(version: Json, shared: Json) -> Json:
    schema = at(shared, "validation", "openAPIV3Schema") or at(version, "schema", "openAPIV3Schema")
    made: Json = {**version, "schema": {"openAPIV3Schema": schema or _ANYTHING}}
    if "subresources" in shared:
        made.setdefault("subresources", shared["subresources"])
    columns = objs(version.get("additionalPrinterColumns") or shared.get("additionalPrinterColumns"))
    if columns:
        made["additionalPrinterColumns"] = [_column(column) for column in columns]
    return made


def _column(column: Json) -> Json:
    if "JSONPath" not in column:
        return column
    return {**{key: value for key, value in column.items() if key != "JSONPath"}, "jsonPath": column["JSONPath"]}


_ANYTHING: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _moves(versions: tuple[str, ...], kinds: tuple[str, ...], successor: str, change: Conversion = _same) -> _Table:
    return {(version, kind): (successor, change) for version in versions for kind in kinds}


_APPS = ("apps/v1beta1", "apps/v1beta2", "extensions/v1beta1")
_RBAC = ("rbac.authorization.k8s.io/v1alpha1", "rbac.authorization.k8s.io/v1beta1")
_INGRESS = ("extensions/v1beta1", "networking.k8s.io/v1beta1")
_CONVERSIONS: _Table = {
    **_moves(_APPS, ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), "apps/v1", _selected),
    **_moves(_INGRESS, ("Ingress",), "networking.k8s.io/v1", _ingress),
    **_moves(("networking.k8s.io/v1beta1",), ("IngressClass",), "networking.k8s.io/v1"),
    **_moves(("extensions/v1beta1",), ("NetworkPolicy",), "networking.k8s.io/v1"),
    **_moves(("policy/v1beta1",), ("PodDisruptionBudget",), "policy/v1"),
    **_moves(("batch/v1beta1", "batch/v2alpha1"), ("CronJob",), "batch/v1"),
    **_moves(_RBAC, ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), "rbac.authorization.k8s.io/v1"),
    **_moves(("storage.k8s.io/v1beta1",), ("StorageClass", "CSIDriver", "CSINode"), "storage.k8s.io/v1"),
    **_moves(("scheduling.k8s.io/v1beta1",), ("PriorityClass",), "scheduling.k8s.io/v1"),
    **_moves(("coordination.k8s.io/v1beta1",), ("Lease",), "coordination.k8s.io/v1"),
    **_moves(("autoscaling/v2beta2",), ("HorizontalPodAutoscaler",), "autoscaling/v2"),
    **_moves(("apiextensions.k8s.io/v1beta1",), ("CustomResourceDefinition",), "apiextensions.k8s.io/v1", _definition),
}
