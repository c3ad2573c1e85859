"""The operators that are compared: how each runs, what it is asked for, and how it says that it is done."""

import os
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from msgspec import field

from bench.children import LOGS, Child, child, program
from bench.clusters import fleet
from bench.clusters.fleet import Mode
from bench.clusters.scale import DEFINITION
from stateward.kube.objects.metadata import ObjectMeta, WireRecord
from stateward.kube.objects.resource import Resource
from stateward.operator.objects.caches import CLUSTERS

MEMORY = ("2Gi", "3Gi")
"""What a member of the changed pool has before and after."""
CHANGED = "hot"
PEER_FOLDER = "BENCH_PEER_ECK"
"""The environment variable for the folder of ECK's program, `elastic-operator`, and its CRDs, `crds.yaml`."""
ECK_NAMESPACE = "elastic-system"
ELASTICSEARCH = "9.2.0"


class Whole(WireRecord):
    """An object with all that it asks for and says."""

    metadata: ObjectMeta = ObjectMeta()
    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)


class Side(ABC):
    """One operator. Members of the changed pool have `-hot-` in the names of their pods, with each of them."""

    name: str
    clusters: Resource[Whole]
    definitions: Path
    """The file of its CRDs."""

    @abstractmethod
    def operator(self, kubeconfig: Path) -> AbstractContextManager[Child]:
        """Run the operator while the block runs."""

    @abstractmethod
    def world(self, kubeconfig: Path) -> AbstractContextManager[Child]:
        """Run what kwok does not pretend while the block runs."""

    @abstractmethod
    def body(self, index: int, memory: str) -> dict[str, Any]:
        """Return a cluster as a manifest; `memory` is that of the changed pool's members."""

    @abstractmethod
    def is_ready(self, cluster: Whole) -> bool:
        """Whether a cluster's status says of its newest generation that it is Ready."""


class Stateward(Side):
    """The operator of this repository, secured as ECK's clusters always are."""

    name = "Stateward"
    clusters = CLUSTERS.viewed_as(Whole)
    definitions = DEFINITION

    def operator(self, kubeconfig: Path) -> AbstractContextManager[Child]:
        """Run it as `scale` does."""
        return child("clusters.operated", str(kubeconfig))

    def world(self, kubeconfig: Path) -> AbstractContextManager[Child]:
        """Open the door of a database as soon as its cluster has certificates."""
        return child("clusters.world", str(kubeconfig), "0", Mode.SECURED)

    def body(self, index: int, memory: str) -> dict[str, Any]:
        """Return a secured cluster."""
        body = fleet.body(index, secured=True)
        for pool in body["spec"]["pools"]:
            pool["resources"] = _resources(memory if pool["name"] == CHANGED else MEMORY[0])
        return body

    def is_ready(self, cluster: Whole) -> bool:
        """Whether its condition Ready is True."""
        conditions = {each["type"]: each["status"] for each in cluster.status.get("conditions", [])}
        return conditions.get("Ready") == "True" and _is_newest(cluster)


class Eck(Side):
    """Elastic Cloud on Kubernetes, as it is when nothing is set, but for where it finds the databases."""

    name = "ECK"
    clusters = Resource("elasticsearch.k8s.elastic.co", "v1", "elasticsearches", "Elasticsearch", Whole)

    def __init__(self, folder: Path) -> None:
        self.definitions = folder / "crds.yaml"
        self._program = folder / "elastic-operator"

    def operator(self, kubeconfig: Path) -> AbstractContextManager[Child]:
        """Run its program as a user that may do everything, with the default of every option."""
        hosts = (LOGS / "hosts").absolute()
        hosts.parent.mkdir(parents=True, exist_ok=True)
        hosts.write_text(host_names(250))
        # It asks databases at the names of their pods: its own view of /etc/hosts tells where the stand-ins are.
        inside = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" /etc/hosts && shift && exec "$@"', "sh"]
        asked = ["manager", f"--operator-namespace={ECK_NAMESPACE}", "--manage-webhook-certs=false"]
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        return program("peers.eck", [*inside, str(hosts), str(self._program.absolute()), *asked], environment)

    def world(self, kubeconfig: Path) -> AbstractContextManager[Child]:
        """Likewise."""
        return child("peers.pretended", str(kubeconfig))

    def body(self, index: int, memory: str) -> dict[str, Any]:
        """Return a cluster of the same members."""
        sets = [_node_set(pool, memory if pool["name"] == CHANGED else MEMORY[0]) for pool in fleet.POOLS]
        return {
            "apiVersion": self.clusters.api_version,
            "kind": self.clusters.kind,
            "metadata": {"name": fleet.name(index), "namespace": fleet.NAMESPACE},
            "spec": {"version": ELASTICSEARCH, "nodeSets": sets},
        }

    def is_ready(self, cluster: Whole) -> bool:
        """Whether it is green, and all members are there, and nothing is being applied."""
        status = cluster.status
        healthy = status.get("phase") == "Ready" and status.get("health") == "green"
        return healthy and status.get("availableNodes") == fleet.MEMBERS and _is_newest(cluster)


def peer() -> Eck | None:
    """Return the other operator if it is there; raise RuntimeError where its folder lacks a part."""
    folder = os.environ.get(PEER_FOLDER, "")
    if not folder:
        return None
    for part in ("elastic-operator", "crds.yaml"):
        if not (Path(folder) / part).is_file():
            raise RuntimeError(f"{PEER_FOLDER}: {folder} has no file {part}")
    return Eck(Path(folder))


def host_names(count: int) -> str:
    """Return an /etc/hosts with the names of the pods and Services of so many clusters of ECK."""
    lines = ["127.0.0.1 localhost"]
    for cluster in map(fleet.name, range(count)):
        sets = [(f"{cluster}-es-{pool['name']}", int(pool["replicas"])) for pool in fleet.POOLS]
        pods = [f"{each}-{number}.{each}.{fleet.NAMESPACE}" for each, replicas in sets for number in range(replicas)]
        services = [f"{cluster}-es-{each}.{fleet.NAMESPACE}.svc" for each in ("http", "internal-http")]
        lines += [f"{fleet.address(cluster)} {name}" for name in (*pods, *services)]
    return "\n".join(lines) + "\n"


def _node_set(pool: dict[str, Any], memory: str) -> dict[str, Any]:
    roles = ["master" if role == "cluster_manager" else role for role in pool["roles"]]
    storage = {"storageClassName": fleet.STORAGE_CLASS, "accessModes": ["ReadWriteOnce"]}
    claim = {**storage, "resources": {"requests": {"storage": pool["storage"]["size"]}}}
    container = {"name": "elasticsearch", "resources": _resources(memory)}
    return {
        "name": pool["name"],
        "count": pool["replicas"],
        "config": {"node.roles": roles, "node.store.allow_mmap": False},
        "podTemplate": {"spec": {"containers": [container]}},
        "volumeClaimTemplates": [{"metadata": {"name": "elasticsearch-data"}, "spec": claim}],
    }


def _resources(memory: str) -> dict[str, dict[str, str]]:
    return {"requests": {"memory": memory}, "limits": {"memory": memory}}


def _is_newest(cluster: Whole) -> bool:
    return cluster.status.get("observedGeneration") == cluster.metadata.generation
