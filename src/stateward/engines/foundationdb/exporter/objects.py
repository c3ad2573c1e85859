"""What the exporter of a FoundationDB cluster has beside the container that serves the metrics."""

from functools import cache
from importlib.resources import files as package_files

import msgspec

from stateward.api.checks.access import ASKER
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values.base import Json
from stateward.engines.exporter.objects import CONFIG_MOUNT, Additions
from stateward.engines.exporter.settings import FOLDER, SETTINGS
from stateward.engines.foundationdb.exporter.settings import (
    KILLED,
    LARGEST,
    MARK,
    PATIENCE,
    PAUSE,
    FoundationSettings,
)
from stateward.engines.foundationdb.spec import security
from stateward.engines.foundationdb.spec.build import series
from stateward.engines.foundationdb.spec.identity import cluster_file, description
from stateward.engines.foundationdb.spec.inputs import IMAGE
from stateward.engines.pods import images
from stateward.engines.pods.read_only import container_rights
from stateward.planning.facts.upgrade_order import newer, parse

RESOURCES: Json = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}}
"""Measured: see `docs/monitoring.md`."""
SCRIPT = "ask.sh"
ANSWERS = "/stateward/answers"


def files(cluster: FoundationDBCluster, engine: str) -> dict[str, str]:
    """Return the configuration, by file name."""
    settings = FoundationSettings(
        engine=engine,
        namespace=cluster.metadata.namespace,
        name=cluster.metadata.name,
        description=description(cluster),
        answer=f"{ANSWERS}/status",
    )
    return {SETTINGS: msgspec.json.encode(settings).decode(), SCRIPT: script()}


def running(cluster: FoundationDBCluster) -> str:
    """Return the version whose programs reach the database; empty before it was created.

    In an upgrade to a version that does not talk to the one before, all processes change at one moment, long before
    each pod has the new image: the first member that has joined with the new version tells.
    """
    deployed = cluster.status.version
    newest = max((member.version for member in cluster.status.member_states), key=parse, default="")
    return newest if deployed and newer(newest, deployed) and series(newest) != series(deployed) else deployed


def additions(cluster: FoundationDBCluster) -> Additions:
    """Return the container that asks the database, in the version that runs; there must be one."""
    spec = cluster.spec
    asker: Json = {
        "name": ASKER,
        "image": images.image_for(IMAGE, spec.image, spec.version, running(cluster)),
        "command": ["/bin/bash", f"{FOLDER}/{SCRIPT}", *map(str, (PAUSE, PATIENCE, KILLED, LARGEST)), MARK],
        "env": security.client_environment(cluster),
        "resources": RESOURCES,
        "securityContext": container_rights(),
        "volumeMounts": [
            CONFIG_MOUNT,
            {"name": "cluster", "mountPath": "/stateward/cluster", "readOnly": True},
            {"name": "own", "mountPath": "/stateward/own"},
            {"name": "answers", "mountPath": ANSWERS},
            *security.mounts(cluster),
        ],
    }
    return Additions(
        containers=(asker,),
        volumes=(
            {"name": "cluster", "secret": {"secretName": cluster_file(cluster), "defaultMode": 0o440}},
            {"name": "own", "emptyDir": {"sizeLimit": "1Mi"}},
            # Room for an answer and the next one, each as large as it may become.
            {"name": "answers", "emptyDir": {"sizeLimit": f"{3 * LARGEST >> 20}Mi"}},
            *security.client_volumes(cluster),
        ),
        mounts=({"name": "answers", "mountPath": ANSWERS, "readOnly": True},),
    )


@cache
def script() -> str:
    """Return the script of the container that asks the database."""
    return package_files("stateward.engines.foundationdb.exporter").joinpath(SCRIPT).read_text(encoding="utf-8")
