"""The Kubernetes objects of a cluster that all its members share: a Service, the start script, the cluster file.

The cluster file gives access to every holder, so it is in a Secret. Older pods mount a ConfigMap of the same name,
which is kept up to date while such pods exist.
"""

from collections.abc import Container, Sequence
from functools import cache
from importlib.resources import files

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.foundationdb.objects.labels import ENGINE, cluster_labels
from stateward.engines.foundationdb.spec.identity import PORT, cluster_file, first_connection
from stateward.engines.pods.objects import (
    config_map,
    disruption_budget,
    headless,
    headless_service,
    secret,
    shared_metadata,
)
from stateward.planning.safety.disruption_budget import Budget

CLUSTER_FILE = "fdb.cluster"


def cluster_objects(
    cluster: FoundationDBCluster,
    budgets: Sequence[Budget] = (),
    connection: str | None = "",
    *,
    mapped: bool = False,
    left: Container[str] = (),
) -> list[Json]:
    """Return the shared objects. The cluster file follows the coordinators, for members and for clients.

    `connection` is its content: if empty, the first coordinators, of members that are not in `left`; if None, no file
    is written. `mapped` is whether pods mount it from a ConfigMap.
    """
    name = cluster.metadata.name
    content = {CLUSTER_FILE: f"{connection or first_connection(cluster, left)}\n"} if connection is not None else {}
    members = {names.LABEL_CLUSTER: name, names.LABEL_ENGINE: ENGINE}

    def metadata(of: str) -> Json:
        return shared_metadata(cluster, of, cluster_labels(cluster))

    return [
        config_map(metadata(f"{name}-scripts"), {"start.sh": start_script()}),
        *([secret(metadata(cluster_file(cluster)), content)] if content else ()),
        *([config_map(metadata(cluster_file(cluster)), content)] if content and mapped else ()),
        headless_service(metadata(headless(cluster)), members, {"fdb": PORT}),
        *(disruption_budget(cluster, metadata(name), budget) for budget in budgets),
    ]


@cache
def start_script() -> str:
    """Return the start script of a member."""
    return files("stateward.engines.foundationdb").joinpath("start.sh").read_text(encoding="utf-8")
