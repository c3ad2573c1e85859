"""The volumes of a member's pod: data, configuration, scripts, seeds, and pod metadata."""

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods import agent, read_only
from stateward.engines.search.configuration.security import FOLDER, members_secret
from stateward.engines.search.plugins import containers as plugins
from stateward.engines.search.spec.pools import ResolvedPool

ROOT = "/stateward"
SCRIPT = "start.sh"
CONFIG = "config"
"""Writable directory, by its name: the configuration of the image and of the member."""
RUN = "32Mi"
"""Size limit of the copy of the configuration.

The copy holds keystore values, so it is in memory and never on a disk.
"""


def seeds(cluster: str) -> str:
    """Return the name of the ConfigMap with the addresses of the voting members."""
    return f"{cluster}-seeds"


def scripts(cluster: str) -> str:
    """Return the name of the ConfigMap with the start script."""
    return f"{cluster}-scripts"


def volumes(pool: ResolvedPool, member: str) -> list[Json]:
    """Return the volumes. They mount whole directories, because a file mounted by `subPath` is never updated."""
    cluster = pool.cluster.metadata.name
    bootstrap = {
        "path": "bootstrap",
        "fieldRef": {"fieldPath": f"metadata.annotations['{names.ANNOTATION_BOOTSTRAP}']"},
    }
    return [
        {"name": "data", **_data(pool, member)},
        {"name": "config", "secret": {"secretName": member}},
        {"name": "seeds", "configMap": {"name": seeds(cluster)}},
        {"name": "scripts", "configMap": {"name": scripts(cluster), "defaultMode": 0o555}},
        {"name": "pod", "downwardAPI": {"items": [bootstrap, *(agent.downward() if pool.managed else ())]}},
        {"name": "run", "emptyDir": {"medium": "Memory", "sizeLimit": RUN}},
        _tls(pool),
        *read_only.volumes(writable(pool)),
        *plugins.volumes(pool),
        *(agent.volumes(member) if pool.managed else ()),
    ]


def volume_mounts(pool: ResolvedPool) -> list[Json]:
    """Return where the volumes are mounted in the database's container."""
    fixed = [{"name": name, "mountPath": f"{ROOT}/{name}", "readOnly": True} for name in _READ_ONLY]
    data = {"name": "data", "mountPath": f"{pool.flavor.home}/data"}
    ours = agent.volume_mounts() if pool.managed else []
    return [data, *fixed, {"name": "run", "mountPath": f"{ROOT}/run"}, *read_only.mounts(writable(pool)), *ours]


def writable(pool: ResolvedPool) -> dict[str, str]:
    """Return the directories to which the database writes, beside its data, by name."""
    home = pool.flavor.home
    own = {CONFIG: f"{home}/config", "logs": f"{home}/logs", "tmp": "/tmp"}  # noqa: S108 - a path in the pod
    return {**own, **plugins.directory(pool)}


_READ_ONLY = ("config", "seeds", "scripts", "pod", FOLDER)


def _tls(pool: ResolvedPool) -> Json:
    """Return the volume of the certificates. Every pod has it, so that enabling security needs no new pod."""
    secret = {"secretName": members_secret(pool.cluster), "optional": True, "defaultMode": 0o440}
    return {"name": FOLDER, "secret": secret}


def _data(pool: ResolvedPool, member: str) -> Json:
    if pool.storage.ephemeral:
        return {"emptyDir": {}}
    return {"persistentVolumeClaim": {"claimName": names.claim(member)}}
