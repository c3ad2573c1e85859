"""The containers that install plug-ins into a directory of the pod, and the volumes for it.

The directory begins with the plug-ins of the image. Pods without declared plug-ins have none of this, and use the
directory of the image.
"""

from functools import cache
from importlib.resources import files as resources

from stateward.api.values.base import Json
from stateward.engines.pods.read_only import container_rights, copy_container, mounts
from stateward.engines.search.plugins.files import SOURCE, PluginFile, filled, source
from stateward.engines.search.plugins.files import files as plugin_files
from stateward.engines.search.spec.pools import ResolvedPool

DIRECTORY = "plugins"
"""Writable directory, by its name: the plug-ins of the image and those of the spec."""
_VOLUME = "stateward-plugin-source"
_DATA = "/stateward/data"
_LIMITS = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}


def directory(pool: ResolvedPool) -> dict[str, str]:
    """Return the writable directory of the plug-ins, by name; empty without plug-ins in the spec."""
    return {DIRECTORY: f"{pool.flavor.home}/plugins"} if pool.cluster.spec.plugins else {}


def volumes(pool: ResolvedPool) -> list[Json]:
    """Return the volume with the files of an image or a claim; none for files that are downloaded."""
    chosen = source(pool.cluster)
    if not pool.cluster.spec.plugins:
        return []
    if chosen.claim_name is not None:
        return [{"name": _VOLUME, "persistentVolumeClaim": {"claimName": chosen.claim_name, "readOnly": True}}]
    return [{"name": _VOLUME, "emptyDir": {}}] if chosen.image is not None else []


def init_containers(pool: ResolvedPool, version: str, image: str, writable: dict[str, str]) -> list[Json]:
    """Return the init containers, in order; `writable` has the writable directories of the pod by name."""
    if not pool.cluster.spec.plugins:
        return []
    wanted = tuple(plugin_files(pool.cluster, version))
    return [
        copy_container(image, DIRECTORY, f"{pool.flavor.home}/plugins"),
        *_files_of_image(pool, version),
        _install(pool, wanted, image, writable),
    ]


def _files_of_image(pool: ResolvedPool, version: str) -> list[Json]:
    image = source(pool.cluster).image
    if image is None:
        return []
    container: Json = {
        "name": _VOLUME,
        "image": filled(image, "", version),
        "command": ["cp", "-R", "/plugins/.", SOURCE],
        "resources": _LIMITS,
        "securityContext": container_rights(),
        "volumeMounts": [{"name": _VOLUME, "mountPath": SOURCE}],
    }
    return [container]


def _install(pool: ResolvedPool, wanted: tuple[PluginFile, ...], image: str, writable: dict[str, str]) -> Json:
    places = [word for plugin in wanted for word in (plugin.name, plugin.place)]
    from_source = [{"name": _VOLUME, "mountPath": SOURCE, "readOnly": True}] if volumes(pool) else []
    return {
        "name": "stateward-plugin-install",
        "image": image,
        "command": ["/bin/bash", "-c", script(), "install.sh", *places],
        "env": [
            {"name": "STATEWARD_ENGINE", "value": pool.flavor.engine},
            {"name": "STATEWARD_HOME", "value": pool.flavor.home},
        ],
        "resources": _LIMITS,
        "securityContext": container_rights(),
        "volumeMounts": [{"name": "data", "mountPath": _DATA}, *mounts(writable), *from_source],
    }


@cache
def script() -> str:
    """Return the script that installs plug-ins."""
    return resources("stateward.engines.search.plugins").joinpath("install.sh").read_text(encoding="utf-8")
