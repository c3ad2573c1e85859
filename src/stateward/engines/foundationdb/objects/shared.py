"""The Kubernetes objects of a cluster that all its members share: a Service, ConfigMaps and disruption budgets."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.foundationdb.objects.labels import ENGINE, cluster_labels
from stateward.engines.foundationdb.spec.identity import PORT, connection
from stateward.engines.pods.objects import config_map, disruption_budget, headless, headless_service, shared_metadata
from stateward.planning.safety.disruption_budget import Budget

CLUSTER_FILE = "fdb.cluster"


def cluster_objects(cluster: FoundationDBCluster, budgets: Sequence[Budget] = ()) -> list[Json]:
    """Return the shared objects. The cluster file follows the coordinators, for members and for clients."""
    name = cluster.metadata.name
    members = {names.LABEL_CLUSTER: name, names.LABEL_ENGINE: ENGINE}

    def metadata(of: str) -> Json:
        return shared_metadata(cluster, of, cluster_labels(cluster))

    return [
        config_map(metadata(f"{name}-scripts"), {"start.sh": start_script()}),
        config_map(metadata(f"{name}-cluster-file"), {CLUSTER_FILE: f"{connection(cluster)}\n"}),
        headless_service(metadata(headless(cluster)), members, {"fdb": PORT}),
        *(disruption_budget(cluster, metadata(name), budget) for budget in budgets),
    ]


@cache
def start_script() -> str:
    """Return the program that starts a member."""
    return files("stateward.engines.foundationdb").joinpath("start.sh").read_text(encoding="utf-8")
