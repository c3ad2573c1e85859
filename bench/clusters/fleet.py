"""The clusters that are measured: what they are called, what they ask for, where their stand-in databases answer."""

from enum import StrEnum
from typing import Any

from stateward.kube.objects.metadata import Key

NAMESPACE = "bench"
STORAGE_CLASS = "bench"
VERSION = "2.19.5"
PORT = 19200
"""Where every stand-in database listens, each on an address of its own."""
POOLS: list[dict[str, Any]] = [
    {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"size": "1Gi"}},
    {"name": "hot", "replicas": 6, "roles": ["data", "ingest"], "storage": {"size": "10Gi"}},
]
MEMBERS = 9
SHARED = {"services": 3, "configmaps": 2}
"""Objects that a cluster has once; its budgets are not in it, for their number depends on its state."""

_PER_NET = 250


class Mode(StrEnum):
    """How the databases are secured, and whether the operator gets in."""

    PLAIN = "plain"
    SECURED = "secured"
    FAILING = "failing"
    """Secured, but the databases present certificates of another CA."""

    @property
    def secured(self) -> bool:
        """Whether the clusters ask for security."""
        return self is not Mode.PLAIN


def name(index: int) -> str:
    """Return the name of a cluster."""
    return f"c-{index:04d}"


def key(index: int) -> Key:
    """Return where a cluster is."""
    return Key(NAMESPACE, name(index))


def address(cluster: str) -> str:
    """Return the loopback address of a cluster's stand-in database.

    Each has its own, as in real life, so that connections are made and closed as often as they are there.
    """
    index = int(cluster.removeprefix("c-"))
    return f"127.64.{index // _PER_NET}.{index % _PER_NET + 1}"


def cluster_at(host: str) -> str:
    """Return the cluster whose stand-in database has this address."""
    _, _, net, place = host.split(".")
    return name(int(net) * _PER_NET + int(place) - 1)


def body(index: int, edit: str = "", *, secured: bool = False) -> dict[str, Any]:
    """Return a cluster as a manifest; a different `edit` is a change without restarts."""
    storage = {"storageClass": STORAGE_CLASS}
    pools = [{**pool, "storage": {**pool["storage"], **storage}} for pool in POOLS]
    spec: dict[str, Any] = {"version": VERSION, "pools": pools}
    if secured:
        spec["security"] = {"enabled": True}
    if edit:
        spec["service"] = {"labels": {"edit": edit}}
    return {
        "apiVersion": "stateward.dev/v1alpha1",
        "kind": "OpenSearchCluster",
        "metadata": {"name": name(index), "namespace": NAMESPACE},
        "spec": spec,
    }
