"""Which ConfigMaps and Secrets the pods of a workload really use, and which of their keys.

What is used is what a container can see: a variable, a mounted volume (of which `items` and `subPath` may take single
keys), the credentials that its image or its volume is fetched with. A volume that no container mounts is not used.
"""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stateward.api.values.base import Json
from stateward.packages.format.trees import at, obj, objs, text

TEMPLATES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
"""The path of the pod template in workloads, by group and kind."""

CONFIG_MAP = "ConfigMap"
SECRET = "Secret"  # noqa: S105 - a kind
PROVIDER_CLASS = "SecretProviderClass"
"""What the secrets store CSI driver reads to know which secrets a volume has."""


@dataclass(frozen=True, slots=True, order=True)
class Dependency:
    """An object whose data pods use; an empty `key` means all of its keys."""

    kind: str
    name: str
    key: str = ""


def template_path(body: Json) -> tuple[str, ...] | None:
    """Return the path of a workload's pod template; None for an object without one."""
    group = text(body.get("apiVersion")).rpartition("/")[0]
    return TEMPLATES.get((group, text(body.get("kind"))))


def dependencies(body: Json) -> frozenset[Dependency]:
    """Return what the pods of a workload use; nothing for an object without a pod template."""
    path = template_path(body)
    if path is None:
        return frozenset()
    spec = obj(at(body, *path, "spec"))
    found = {found for found in (*_containers(spec), *_volumes(spec), *_pull_secrets(spec)) if found.name}
    whole = {(d.kind, d.name) for d in found if not d.key}
    return frozenset(d for d in found if not d.key or (d.kind, d.name) not in whole)


def _all_containers(spec: Json) -> Iterator[Json]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from objs(spec.get(field))


def _containers(spec: Json) -> Iterator[Dependency]:
    for container in _all_containers(spec):
        for variable in objs(container.get("env")):
            source = obj(variable.get("valueFrom"))
            for field, kind in (("configMapKeyRef", CONFIG_MAP), ("secretKeyRef", SECRET)):
                reference = obj(source.get(field))
                if reference:
                    yield Dependency(kind, text(reference.get("name")), text(reference.get("key")))
        for source in objs(container.get("envFrom")):
            yield Dependency(CONFIG_MAP, text(at(source, "configMapRef", "name")))
            yield Dependency(SECRET, text(at(source, "secretRef", "name")))


def _pull_secrets(spec: Json) -> Iterator[Dependency]:
    for reference in objs(spec.get("imagePullSecrets")):
        yield Dependency(SECRET, text(reference.get("name")))


_CREDENTIALS = (
    ("cephfs", "secretRef"),
    ("csi", "nodePublishSecretRef"),
    ("flexVolume", "secretRef"),
    ("iscsi", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("storageos", "secretRef"),
)
"""Kinds of volumes that are fetched with a Secret, and the field that names it."""


def _volumes(spec: Json) -> Iterator[Dependency]:
    mounts: dict[str, list[str | None]] = {}
    for container in _all_containers(spec):
        for mount in objs(container.get("volumeMounts")):
            # A path computed from variables may be any path; then the whole volume counts.
            path = None if mount.get("subPathExpr") else _plain(mount.get("subPath"))
            mounts.setdefault(text(mount.get("name")), []).append(path)
    for volume in objs(spec.get("volumes")):
        paths = mounts.get(text(volume.get("name")))
        if paths is not None:
            yield from _volume(volume, frozenset(paths))


def _volume(volume: Json, paths: frozenset[str | None]) -> Iterator[Dependency]:
    yield from _files(CONFIG_MAP, text(at(volume, "configMap", "name")), obj(volume.get("configMap")), paths)
    yield from _files(SECRET, text(at(volume, "secret", "secretName")), obj(volume.get("secret")), paths)
    for source in objs(at(volume, "projected", "sources")):
        for field, kind in (("configMap", CONFIG_MAP), ("secret", SECRET)):
            yield from _files(kind, text(at(source, field, "name")), obj(source.get(field)), paths)
    for field, inner in _CREDENTIALS:
        yield Dependency(SECRET, text(at(volume, field, inner, "name")))
    yield Dependency(SECRET, text(at(volume, "azureFile", "secretName")))
    yield Dependency(PROVIDER_CLASS, text(at(volume, "csi", "volumeAttributes", "secretProviderClass")))


def _files(kind: str, name: str, source: Json, paths: frozenset[str | None]) -> Iterator[Dependency]:
    """Yield the keys that are files of a volume, as far as containers mount them."""
    listed = objs(source.get("items"))
    files = {_plain(item.get("path")) or "": text(item.get("key")) for item in listed}
    if None in paths:
        keys = set(files.values()) if listed else {""}
    elif listed:
        keys = {key for path, key in files.items() if any(_within(path, sub) for sub in paths if sub)}
    else:
        keys = {path for path in paths if path}
    yield from (Dependency(kind, name, key) for key in keys)


def _plain(path: object) -> str | None:
    """Return a path without dots and doubled slashes, as Kubernetes allows them; None for the whole volume."""
    said = text(path)
    return None if not said or (plain := posixpath.normpath(said)) == "." else plain


def _within(path: str, sub: str) -> bool:
    return path == sub or path.startswith(f"{sub}/")
