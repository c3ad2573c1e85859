"""All database processes of a world, their disks, and their discovery."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.selectors import selector_matches
from stateward.simulation.cluster.budgets import ready
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.process import Container
from stateward.simulation.opensearch.behavior import DatabaseBehavior
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.node import Node, Stage
from stateward.simulation.opensearch.shards import Disk
from stateward.simulation.opensearch.snapshots import ModelSnapshot

MISSED_PROBES = 10.0
"""Seconds after which the readiness probe of a paused process has failed as often as it may."""
FILE_SYSTEM = 97
"""Percent of a volume that its file system leaves for data."""


class Loss(NamedTuple):
    """Lost acknowledged documents."""

    cluster: str
    shard: str
    documents: int


@dataclass(slots=True)
class Damage:
    """The data losses of a run."""

    losses: list[Loss] = field(default_factory=list[Loss])


class Databases:
    """Starts database processes, keeps their disks, and records data losses."""

    def __init__(self, context: SimulationContext, default_roles: Iterable[str] = ()) -> None:
        self.context = context
        self.default_roles = tuple(sorted(default_roles))
        """Roles of a node without configured roles."""
        self.behavior = DatabaseBehavior()
        self.announced = False
        """Whether the databases record node shutdowns, as Elasticsearch does."""
        self.isolated: set[str] = set()
        """Kubernetes nodes whose processes reach no other node."""
        self.hanging: set[str] = set()
        """Kubernetes nodes with unresponsive disks: no process ends there."""
        self.disks: dict[str, Disk] = {}
        self._volumes: dict[str, int] = {}
        """Bytes of the volumes that limit their disks, by UID of the claim."""
        self.nodes: dict[str, Node] = {}
        """The newest process of each pod, by the pod's UID."""
        self.clusters: dict[str, Cluster] = {}
        self.repositories: dict[str, dict[str, ModelSnapshot]] = {}
        """The files of snapshot repositories by name, which outlive each database."""
        self.damage = Damage()
        self.on_forming: list[Callable[[Node], None]] = []
        """Called with each process that is about to form a database."""
        self._numbers = 0

    def start(self, container: Container) -> Node:
        """Start the process of a container."""
        disk = self.disks.get(container.disk)
        if disk is None:
            self._numbers += 1
            disk = self.disks[container.disk] = Disk(container.disk, f"node{self._numbers:04d}")
            disk.capacity = self._volumes.get(container.disk, disk.capacity)
        node = Node(self, container, disk)
        self.nodes[container.uid] = node
        return node

    def limit(self, disk: str, size: int) -> None:
        """Limit a disk to its volume, of which the file system needs a part; size in bytes."""
        self._volumes[disk] = size * FILE_SYSTEM // 100
        known = self.disks.get(disk)
        if known is not None:
            known.capacity = self._volumes[disk]
            if (cluster := self.clusters.get(known.identity)) is not None:
                cluster.allocator.reroute()

    def discard(self, disk: str) -> None:
        """Discard the data of a deleted disk; record what existed only there as lost."""
        gone = self.disks.pop(disk, None)
        if gone is None or not gone.copies:
            return
        for cluster in self.clusters.values():
            if cluster.identity == gone.identity:
                self.damage.losses += [Loss(cluster.name, *lost) for lost in self._lost(cluster, gone)]

    def kept(self, disk: str) -> frozenset[str]:
        """Return the shards with an in-sync copy on a disk."""
        found = self.disks.get(disk)
        cluster = self.clusters.get(found.identity) if found is not None else None
        if found is None or cluster is None:
            return frozenset()
        return frozenset(shard.name for shard in cluster.shards if found.copies.get(shard.name) in shard.in_sync)

    def _lost(self, cluster: Cluster, gone: Disk) -> list[tuple[str, int]]:
        left = {(name, allocation) for d in self.disks.values() for name, allocation in d.copies.items()}
        return [
            (shard.name, int(shard.acknowledged))
            for shard in cluster.shards
            if gone.copies.get(shard.name) in shard.in_sync
            and shard.acknowledged >= 1
            and not any((shard.name, allocation) in left for allocation in shard.in_sync)
        ]

    def isolate(self, node: str, *, on: bool) -> None:
        """Isolate the processes of a Kubernetes node, or reconnect them."""
        if on:
            self.isolated.add(node)
        else:
            self.isolated.discard(node)
        for process in list(self.nodes.values()):
            if process.container.node == node and on and process.alive and (cluster := self.cluster_of(process)):
                cluster.fell_silent(process)
            if process.container.node == node and not on:
                process.seek_again()
        for cluster in self.clusters.values():
            cluster.evaluate()

    def pause(self, process: Node, *, on: bool) -> None:
        """Pause a process, as a long garbage collection or a moved virtual machine does, or let it go on."""
        process.paused = on
        self.context.later(MISSED_PROBES if on else 0.0, process.container.probe)
        if (cluster := self.cluster_of(process)) is not None and process.alive:
            if on:
                cluster.fell_silent(process)
            cluster.evaluate()

    def arrived(self, node: Node) -> None:
        """Handle a process that can communicate; a returning voter may restore the quorum."""
        cluster = self.clusters.get(node.disk.identity)
        if cluster is not None:
            cluster.evaluate()

    def ended(self, node: Node, *, graceful: bool) -> None:
        """Note that a process has ended."""
        cluster = self.cluster_of(node)
        if cluster is not None:
            cluster.lost(node, graceful=graceful)
            cluster.evaluate()

    def cluster_of(self, node: Node) -> Cluster | None:
        """Return the cluster that a process has joined."""
        return self.clusters.get(node.joined_identity)

    def find_cluster(self, node: Node) -> None:
        """Run one discovery attempt of a process."""
        if not node.reachable:
            return
        own = self.clusters.get(node.disk.identity)
        if node.granted and not node.disk.identity:
            self._form(node)
            return
        peers = self._peers(node)
        if own is not None:
            if peers or own.leader == "":
                own.offer(node)
            return
        known = [cluster for peer in peers if peer.stage is Stage.JOINED and (cluster := self.cluster_of(peer))]
        if known and not node.disk.identity:
            # The rest of a lost cluster has no leader; the process asks a leader wherever it finds one.
            next((cluster for cluster in known if cluster.leader), known[0]).offer(node)

    def _form(self, node: Node) -> None:
        for told in self.on_forming:
            told(node)
        self._numbers += 1
        cluster = Cluster(self, node.cluster_name, f"uuid-{self._numbers:04d}")
        self.clusters[cluster.identity] = cluster
        self.context.trace(f"{node.name} forms cluster {cluster.identity}")
        self.context.count("cluster formed")
        cluster.form(node)

    def _peers(self, node: Node) -> list[Node]:
        """Return the voting nodes that a process finds, by its seeds file and its discovery Service."""
        lines = node.container.seeds().get("unicast_hosts.txt", "").splitlines()
        addresses = {line.rpartition(":")[0].strip("[]") for line in lines} | self._resolved(node)
        return [
            other
            for other in self.nodes.values()
            if other is not node
            and other.votes
            and other.reachable
            and other.container.address in addresses
            and other.cluster_name == node.cluster_name
            and other.secured is node.secured
        ]

    def _resolved(self, node: Node) -> set[str]:
        namespace = node.container.pod.namespace
        cluster = node.cluster_name.rpartition(".")[2]
        for service in self.context.store.all("/services"):
            if service.key == (namespace, f"{cluster}-discovery"):
                selector = {"matchLabels": part(service.doc, "spec", "selector")}
                pods = (p for p in self.context.store.all("/pods") if p.key.namespace == namespace)
                # A Service lists pods that are not ready only with `publishNotReadyAddresses`.
                unready = part(service.doc, "spec").get("publishNotReadyAddresses", False)
                found = (p for p in pods if selector_matches(selector, p.labels) and (unready or ready(p)))
                return {part(pod.doc, "status").get("podIP", "") for pod in found} - {""}
        return set()

    def at(self, address: str) -> Node | None:
        """Return the process that answers at an address."""
        return next((n for n in self.nodes.values() if n.alive and n.container.address == address), None)

    def member(self, namespace: str, name: str) -> Node | None:
        """Return the process of a member."""
        pod = (namespace, f"{name}-0")
        return next((n for n in self.nodes.values() if n.alive and n.container.pod == pod), None)

    def forget_ended(self) -> None:
        """Drop ended processes."""
        self.nodes = {uid: node for uid, node in self.nodes.items() if node.alive}
