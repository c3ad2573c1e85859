"""Properties of each kind: generation, status subresource, merge keys of lists, and immutable fields."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from stateward.api.schema.crd import root_schema
from stateward.api.schema.custom_resources import KINDS as CUSTOM_KINDS
from stateward.api.values.base import GROUP
from stateward.simulation.apiserver.documents import Doc


class Kind(Struct, frozen=True):
    """How the server treats the objects of one kind."""

    generation: bool = False
    """Whether a change of the spec increments `metadata.generation`."""
    status: bool = False
    """Whether the status is a subresource, which writes to the object itself do not change."""
    namespaced: bool = True
    mutable: frozenset[str] | None = None
    """The only fields of the spec that may change; None for all."""
    tracked: bool = True
    """Whether the server tracks which manager owns which field; off for kinds that the operator never applies."""


_STATEFUL_SET = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)

_JOB = frozenset({"parallelism", "suspend", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"})

KINDS: Mapping[str, Kind] = {
    "/pods": Kind(status=True, generation=True),
    "/services": Kind(status=True),
    "/persistentvolumeclaims": Kind(status=True, mutable=frozenset({"resources", "volumeName"})),
    "/persistentvolumes": Kind(status=True, namespaced=False),
    "/nodes": Kind(status=True, namespaced=False),
    "/namespaces": Kind(status=True, namespaced=False),
    "/secrets": Kind(),
    "/configmaps": Kind(),
    "/serviceaccounts": Kind(),
    "apps/statefulsets": Kind(generation=True, status=True, mutable=_STATEFUL_SET),
    "apps/deployments": Kind(generation=True, status=True),
    "apps/daemonsets": Kind(generation=True, status=True),
    "batch/jobs": Kind(generation=True, status=True, mutable=_JOB),
    "batch/cronjobs": Kind(generation=True, status=True),
    "policy/poddisruptionbudgets": Kind(generation=True, status=True),
    "networking.k8s.io/networkpolicies": Kind(generation=True),
    "networking.k8s.io/ingresses": Kind(generation=True, status=True),
    "gateway.networking.k8s.io/httproutes": Kind(generation=True, status=True),
    "storage.k8s.io/storageclasses": Kind(namespaced=False),
    "events.k8s.io/events": Kind(tracked=False),
    "coordination.k8s.io/leases": Kind(tracked=False),
    "rbac.authorization.k8s.io/roles": Kind(),
    "rbac.authorization.k8s.io/rolebindings": Kind(),
    "apiextensions.k8s.io/customresourcedefinitions": Kind(namespaced=False, status=True, generation=True),
} | {f"{GROUP}/{kind.plural}": Kind(generation=True, status=True) for kind in CUSTOM_KINDS}

MERGE_KEYS: Mapping[str, tuple[tuple[str, object], ...]] = {
    "containers": (("name", ""),),
    "initContainers": (("name", ""),),
    "ephemeralContainers": (("name", ""),),
    "env": (("name", ""),),
    "volumes": (("name", ""),),
    "volumeMounts": (("mountPath", ""),),
    "volumeDevices": (("devicePath", ""),),
    "imagePullSecrets": (("name", ""),),
    "ownerReferences": (("uid", ""),),
    "topologySpreadConstraints": (("topologyKey", ""), ("whenUnsatisfiable", "")),
    "hostAliases": (("ip", ""),),
    "conditions": (("type", ""),),
    "secrets": (("name", ""),),
}
"""Lists of built-in kinds that merge item by item, with the keys of an item and their defaults, by the field's name."""

ATOMIC = frozenset({"selector", "nodeSelector", "labelSelector", "secretKeyRef", "configMapKeyRef", "fieldRef"})
"""Objects that one manager owns as a whole."""

_PORTS = {"containers": "containerPort", "initContainers": "containerPort", "spec": "port"}


def kind_of(name: str) -> Kind:
    """Return the properties of a kind; a kind that is not listed has the defaults."""
    return KINDS.get(name, Kind())


def list_keys(kind: str, path: tuple[Any, ...]) -> tuple[tuple[str, object], ...] | None:
    """Return the merge keys (with defaults) of the list at a path; empty for a set, None for an atomic list."""
    field = path[-1]
    if kind.startswith(f"{GROUP}/") and path[0] != "metadata":
        return _CUSTOM.get((kind, *(part for part in path if isinstance(part, str))))
    if field == "ports":
        holder = next((part for part in reversed(path[:-1]) if isinstance(part, str)), "")
        return ((_PORTS.get(holder, "port"), 0), ("protocol", "TCP"))
    if field == "finalizers":
        return ()
    return MERGE_KEYS.get(str(field))


def _custom_keys() -> dict[tuple[str, ...], tuple[tuple[str, object], ...]]:
    found: dict[tuple[str, ...], tuple[tuple[str, object], ...]] = {}
    for kind in CUSTOM_KINDS:
        _collect(root_schema(kind), (f"{GROUP}/{kind.plural}",), found)
    return found


def _collect(schema: Doc, path: tuple[str, ...], found: dict[tuple[str, ...], tuple[tuple[str, object], ...]]) -> None:
    how = schema.get("x-kubernetes-list-type")
    if how == "map":
        found[path] = tuple((str(key), "") for key in schema["x-kubernetes-list-map-keys"])
    elif how == "set":
        found[path] = ()
    for name, inner in cast("Doc", schema.get("properties", {})).items():
        _collect(inner, (*path, name), found)
    if isinstance(schema.get("items"), dict):
        _collect(schema["items"], path, found)


_CUSTOM = _custom_keys()
