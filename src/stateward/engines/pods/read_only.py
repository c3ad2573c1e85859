"""Pods with a read-only root file system: the directories that stay writable, and the rights of containers.

Each writable directory is an `emptyDir`. Its name has a prefix, so that it never meets a volume of `podTemplate`; a
mount of `podTemplate` at the same path replaces it.
"""

from collections.abc import Mapping

from stateward.api.values.base import Json

_PREFIX = "stateward-"
_TARGET = "/stateward/writable"
# A container that runs again finds its last copy, with links into read-only volumes: the copy is removed first.
_COPY = 'find "$2" -mindepth 1 -delete && cp -R "$1"/. "$2"/'


def container_rights() -> Json:
    """Return the security context of every container: no new rights, no capabilities, no writes to the image."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def volumes(writable: Mapping[str, str]) -> list[Json]:
    """Return a volume for each writable directory; `writable` maps names to paths in the pod."""
    return [{"name": f"{_PREFIX}{name}", "emptyDir": {}} for name in writable]


def mounts(writable: Mapping[str, str]) -> list[Json]:
    """Return where the writable directories are mounted."""
    return [{"name": f"{_PREFIX}{name}", "mountPath": path} for name, path in writable.items()]


def copy_container(image: str, name: str, path: str) -> Json:
    """Return the init container that fills the writable directory `name` with what the image has at `path`."""
    container = f"{_PREFIX}{name}"
    return {
        "name": container,
        "image": image,
        "command": ["/bin/bash", "-c", _COPY, container, path, _TARGET],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": container_rights(),
        "volumeMounts": [{"name": f"{_PREFIX}{name}", "mountPath": _TARGET}],
    }
