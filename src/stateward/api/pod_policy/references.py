"""What the pods of a template use by name: Secrets, volume claims, storage; also what no container mounts yet."""

from collections.abc import Iterator
from dataclasses import dataclass

from stateward.api.pod_policy.finding import Path
from stateward.api.pod_policy.restricted import VOLUMES
from stateward.api.pod_policy.template import Placed, containers, inner, items, pod_spec, volumes
from stateward.api.values.base import Json

SECRET = "Secret"  # noqa: S105 - a kind
CLAIM, VOLUME, PROVIDER_CLASS = "PersistentVolumeClaim", "PersistentVolume", "SecretProviderClass"
DEVICES, CONFIG_MAP = "ResourceClaim", "ConfigMap"

STORAGE = "storage of kind"
"""Stands for a kind: storage that a volume names by its address, which no object of the namespace can allow."""

_WITHOUT_ADDRESS = (*VOLUMES, "hostPath", "name")
"""Fields of volumes that name no storage elsewhere: kinds of every level, and those that baseline checks."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A named object, and the place of its name."""

    kind: str
    name: str
    path: Path


def references(template: Json) -> tuple[Reference, ...]:
    """Return the named objects, each once.

    They include Secrets of registries: the author of a cluster chooses the image and the commands, and could read
    everything that their owner may pull.
    """
    found = [*_variables(template, SECRET, "secret"), *_volumes(template), *_of_pod(template)]
    return tuple({(r.kind, r.name): r for r in reversed(found) if r.name}.values())[::-1]


def config_maps(template: Json) -> Iterator[Reference]:
    """Yield the ConfigMaps, which need no permission; more than once if they are used more than once."""
    yield from _variables(template, CONFIG_MAP, "configMap")
    for path, volume in volumes(template):
        yield Reference(CONFIG_MAP, str(inner(volume, "configMap").get("name") or ""), (*path, "configMap", "name"))
        for at, source in items(inner(volume, "projected"), "sources", (*path, "projected")):
            yield Reference(CONFIG_MAP, str(inner(source, "configMap").get("name") or ""), (*at, "configMap", "name"))


def _variables(template: Json, kind: str, source: str) -> Iterator[Reference]:
    key, whole = f"{source}KeyRef", f"{source}Ref"
    for path, container in containers(template):
        for at, variable in items(container, "env", path):
            yield Reference(
                kind, str(inner(variable, "valueFrom", key).get("name") or ""), (*at, "valueFrom", key, "name")
            )
        for at, origin in items(container, "envFrom", path):
            yield Reference(kind, str(inner(origin, whole).get("name") or ""), (*at, whole, "name"))


def _volumes(template: Json) -> Iterator[Reference]:
    for placed in volumes(template):
        yield from _volume(placed)


def _volume(placed: Placed) -> Iterator[Reference]:
    path, volume = placed
    for kind, source, field in (
        (SECRET, "secret", "secretName"),
        (CLAIM, "persistentVolumeClaim", "claimName"),
    ):
        yield Reference(kind, str(inner(volume, source).get(field) or ""), (*path, source, field))
    for at, source in items(inner(volume, "projected"), "sources", (*path, "projected")):
        yield Reference(SECRET, str(inner(source, "secret").get("name") or ""), (*at, "secret", "name"))
    yield from _claim(path, inner(volume, "ephemeral", "volumeClaimTemplate", "spec"))
    yield from _driver((*path, "csi"), inner(volume, "csi"))
    for kind, value in volume.items():
        if kind not in _WITHOUT_ADDRESS and value is not None:
            yield Reference(STORAGE, kind, (*path, kind))


def _driver(path: Path, csi: Json) -> Iterator[Reference]:
    """Yield the objects in settings of a volume driver; drivers read names of Secrets from their own attributes."""
    name = inner(csi, "nodePublishSecretRef").get("name")
    yield Reference(SECRET, str(name or ""), (*path, "nodePublishSecretRef", "name"))
    for attribute, value in inner(csi, "volumeAttributes").items():
        for kind, ending in ((PROVIDER_CLASS, "secretproviderclass"), (SECRET, "secretname")):
            if attribute.lower().endswith(ending):
                yield Reference(kind, str(value or ""), (*path, "volumeAttributes", attribute))


def _claim(path: Path, spec: Json) -> Iterator[Reference]:
    """Yield what a claim created with the pod would copy, or use directly."""
    at = (*path, "ephemeral", "volumeClaimTemplate", "spec")
    for field in ("dataSource", "dataSourceRef"):
        named = inner(spec, field)
        yield Reference(_kind(named), str(named.get("name") or ""), (*at, field, "name"))
    yield Reference(VOLUME, str(spec.get("volumeName") or ""), (*at, "volumeName"))


def _kind(named: Json) -> str:
    """Return the kind of an object as a cluster's own claims know it: of the core group and this namespace if bare."""
    kind, group, namespace = str(named.get("kind") or CLAIM), named.get("apiGroup"), named.get("namespace")
    return f"{kind}{f'.{group}' if group else ''}{f' of namespace {namespace}' if namespace else ''}"


def _of_pod(template: Json) -> Iterator[Reference]:
    """Yield what the kubelet uses for the whole pod: credentials of registries, and devices of others."""
    spec = pod_spec(template)
    for at, named in items(spec, "imagePullSecrets", ("spec",)):
        yield Reference(SECRET, str(named.get("name") or ""), (*at, "name"))
    for at, named in items(spec, "resourceClaims", ("spec",)):
        yield Reference(DEVICES, str(named.get("resourceClaimName") or ""), (*at, "resourceClaimName"))
