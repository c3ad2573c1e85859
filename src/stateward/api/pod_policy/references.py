"""Which Secrets and volume claims the pods of a template can read, by name; also those that no container mounts yet."""

from collections.abc import Iterator
from dataclasses import dataclass

from stateward.api.base import Json
from stateward.api.pod_policy.finding import Path
from stateward.api.pod_policy.template import Placed, containers, inner, items, volumes

SECRET = "Secret"  # noqa: S105 - a kind
CLAIM, VOLUME, PROVIDER_CLASS = "PersistentVolumeClaim", "PersistentVolume", "SecretProviderClass"

_SECRET_REFS = (
    ("cephfs", "secretRef"),
    ("cinder", "secretRef"),
    ("csi", "nodePublishSecretRef"),
    ("flexVolume", "secretRef"),
    ("iscsi", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("storageos", "secretRef"),
)
"""Kinds of volumes that are fetched with a Secret, and the field that names it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that is named, and where."""

    kind: str
    name: str
    path: Path


def references(template: Json) -> tuple[Reference, ...]:
    """Return what is named, each object once; Secrets of registries are not among it, as no container sees them."""
    found = [*_variables(template), *_volumes(template)]
    return tuple({(r.kind, r.name): r for r in reversed(found) if r.name}.values())[::-1]


def _variables(template: Json) -> Iterator[Reference]:
    for path, container in containers(template):
        for at, variable in items(container, "env", path):
            named = inner(variable, "valueFrom", "secretKeyRef").get("name")
            yield Reference(SECRET, str(named or ""), (*at, "valueFrom", "secretKeyRef", "name"))
        for at, source in items(container, "envFrom", path):
            yield Reference(SECRET, str(inner(source, "secretRef").get("name") or ""), (*at, "secretRef", "name"))


def _volumes(template: Json) -> Iterator[Reference]:
    for placed in volumes(template):
        yield from _volume(placed)


def _volume(placed: Placed) -> Iterator[Reference]:
    path, volume = placed
    simple = (
        (SECRET, "secret", "secretName"),
        (SECRET, "azureFile", "secretName"),
        (CLAIM, "persistentVolumeClaim", "claimName"),
    )
    for kind, source, field in simple:
        yield Reference(kind, str(inner(volume, source).get(field) or ""), (*path, source, field))
    for source, field in _SECRET_REFS:
        yield Reference(SECRET, str(inner(volume, source, field).get("name") or ""), (*path, source, field, "name"))
    for at, source in items(inner(volume, "projected"), "sources", (*path, "projected")):
        yield Reference(SECRET, str(inner(source, "secret").get("name") or ""), (*at, "secret", "name"))
    yield from _claim(path, inner(volume, "ephemeral", "volumeClaimTemplate", "spec"))
    at = (*path, "csi", "volumeAttributes", "secretProviderClass")
    name = inner(volume, "csi", "volumeAttributes").get("secretProviderClass")
    yield Reference(PROVIDER_CLASS, str(name or ""), at)


def _claim(path: Path, spec: Json) -> Iterator[Reference]:
    """Yield what a claim that is made with the pod would be a copy of, or would take as it is."""
    at = (*path, "ephemeral", "volumeClaimTemplate", "spec")
    for field in ("dataSource", "dataSourceRef"):
        named = inner(spec, field)
        yield Reference(str(named.get("kind") or CLAIM), str(named.get("name") or ""), (*at, field, "name"))
    yield Reference(VOLUME, str(spec.get("volumeName") or ""), (*at, "volumeName"))
