"""The Kubernetes objects of a cluster that all its members share: a Service, ConfigMaps and disruption budgets."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from stateward.api import names
from stateward.api.base import Json
from stateward.api.foundationdb import FoundationDBCluster
from stateward.engines.foundationdb.identity import PORT, connection, headless
from stateward.engines.foundationdb.labels import cluster_labels
from stateward.engines.search.identity import owner
from stateward.planning.budget import Budget

CLUSTER_FILE = "fdb.cluster"


def cluster_objects(cluster: FoundationDBCluster, budgets: Sequence[Budget] = ()) -> list[Json]:
    """Return the shared objects. The cluster file follows the coordinators, for members and for clients."""
    name = cluster.metadata.name
    return [
        _config_map(cluster, f"{name}-scripts", {"start.sh": start_script()}),
        _config_map(cluster, f"{name}-cluster-file", {CLUSTER_FILE: f"{connection(cluster)}\n"}),
        _headless(cluster),
        *(_budget(cluster, budget) for budget in budgets),
    ]


@cache
def start_script() -> str:
    """Return the program that starts a member."""
    return files("stateward.engines.foundationdb").joinpath("start.sh").read_text(encoding="utf-8")


def _config_map(cluster: FoundationDBCluster, name: str, data: dict[str, str]) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(cluster, name), "data": data}


def _headless(cluster: FoundationDBCluster) -> Json:
    """Return a Service that names pods before they are Ready: coordinators are found by these names."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(cluster, headless(cluster)),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {names.LABEL_CLUSTER: cluster.metadata.name, names.LABEL_ENGINE: "foundationdb"},
            "ports": [{"name": "fdb", "port": PORT, "targetPort": PORT, "protocol": "TCP"}],
        },
    }


def _budget(cluster: FoundationDBCluster, budget: Budget) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(cluster, f"{cluster.metadata.name}-{budget.name}"),
        "spec": {
            "maxUnavailable": budget.allowed,
            "selector": {
                "matchLabels": {names.LABEL_CLUSTER: cluster.metadata.name},
                "matchExpressions": [{"key": names.LABEL_ROLES, "operator": "In", "values": sorted(budget.roles)}],
            },
        },
    }


def _metadata(cluster: FoundationDBCluster, name: str) -> Json:
    return {
        "name": name,
        "namespace": cluster.metadata.namespace,
        "labels": cluster_labels(cluster),
        "ownerReferences": [owner(cluster)],
    }
