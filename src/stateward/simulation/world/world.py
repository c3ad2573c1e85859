"""One world: API server, Kubernetes model, nodes and databases."""

import asyncio

from msgspec import Struct

from stateward.api.values.base import API_VERSION, Json
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.kinds import ClusterKind
from stateward.simulation.apiserver.client import ChangeSignal
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.apiserver.writing.deletion import GarbageCollector
from stateward.simulation.cluster.agents import Agents
from stateward.simulation.cluster.budgets import guard
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.kubelet import Kubelets
from stateward.simulation.cluster.nodes import Nodes
from stateward.simulation.cluster.process import Launchers
from stateward.simulation.cluster.scheduler import Scheduler
from stateward.simulation.cluster.statefulsets import StatefulSets
from stateward.simulation.cluster.volumes import Volumes
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.databases import Databases
from stateward.simulation.world.engine_products import DEFAULT, Product
from stateward.simulation.world.foundationdb_pods import CONTAINER, FoundationDBPods

NAMESPACE = "data"
SYSTEM = "stateward"
NAME = "logs"
RIGID = "rigid"
"""The storage class whose volumes cannot grow."""
LIMITED = "limited"
"""The storage class whose volumes limit the disks to their size; with others each disk has 50Gi."""


class Layout(Struct, frozen=True):
    """The machines of a world. `where` is what a volume is pinned to: its node, its zone, or nothing."""

    zones: int = 3
    nodes_per_zone: int = 2
    capacity: int = 8
    where: str = "zone"


class World:
    """All of a run except the operator and its user."""

    def __init__(
        self,
        seed: int,
        layout: Layout,
        loop: asyncio.AbstractEventLoop,
        product: Product = DEFAULT,
        kind: ClusterKind | None = None,
    ) -> None:
        """`kind` is the kind of the cluster resources if it is not the product's."""
        self.layout = layout
        self.product = product
        self.clock_error = 0.0
        """Seconds by which the clocks of machines where operators start are wrong at most, in either direction."""
        self.kind = kind or product.kind
        self.clusters = f"{self.kind.resource.group}/{self.kind.resource.plural}"
        """The name under which the server keeps the cluster resources."""
        self.context = SimulationContext(seed, loop)
        self.store = self.context.store
        self.server = self.context.server
        self.change_signal = ChangeSignal(self.store)
        guard(self.server)
        self.garbage = GarbageCollector(self.store, self._later)
        self.databases = Databases(self.context, product.flavor.default_roles)
        self.databases.announced = product.flavor.announces
        self.sets = StatefulSets(self.context)
        self.scheduler = Scheduler(self.context, layout.capacity)
        self.volumes = Volumes(self.context)
        self.foundationdb = FoundationDBPods(self.context, self.databases.damage)
        self.launchers = Launchers(self.databases, {CONTAINER: self.foundationdb})
        self.volumes.lost = self.launchers.discard
        self.volumes.sized = self.databases.limit
        self.agents = Agents(self.context, self.launchers)
        self.kubelets = Kubelets(self.context, self.agents)
        self.nodes = Nodes(self.context, self.kubelets)
        self._create_objects()

    @property
    def now(self) -> float:
        """Seconds of virtual time since the start of the world."""
        return self.context.now

    def isolate(self, node: str, *, on: bool) -> None:
        """Isolate the database processes of a node, or reconnect them."""
        self.databases.isolate(node, on=on)
        self.foundationdb.isolate(node, on=on)

    def used(self, volume: str) -> bool:
        """Return whether a database process has run on a volume, by the UID of its claim."""
        return volume in self.databases.disks or volume in self.foundationdb.used

    def resource(self, name: str = NAME) -> Stored | None:
        """Return the cluster resource of a name."""
        return self.store.get(self.clusters, Key(NAMESPACE, name))

    def formed(self, name: str = NAME) -> list[Cluster]:
        """Return all databases ever formed for a cluster resource's name, oldest first."""
        return [c for c in self.databases.clusters.values() if c.name == f"{NAMESPACE}.{name}"]

    def database(self, name: str = NAME) -> Cluster | None:
        """Return the newest database of a cluster resource."""
        found = self.formed(name)
        return found[-1] if found else None

    def create(self, spec: Json, name: str = NAME, **meta: Json) -> Stored:
        """Create a cluster resource as a user does."""
        body = {
            "apiVersion": API_VERSION,
            "kind": self.kind.resource.kind,
            "metadata": {"name": name, **meta},
            "spec": spec,
        }
        return self.server.create(self.clusters, NAMESPACE, body, "kubectl")

    def _later(self, seconds: float, do: object) -> None:
        self.context.later(seconds, do)  # pyright: ignore[reportArgumentType]

    def _create_objects(self) -> None:
        for namespace in ("default", NAMESPACE, SYSTEM):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            self.server.create("/namespaces", "", body)
        for name, expandable in (("standard", True), ("fast", True), (RIGID, False), (LIMITED, True)):
            annotations = {"storageclass.kubernetes.io/is-default-class": str(name == "standard").lower()}
            self.server.create(
                "storage.k8s.io/storageclasses",
                "",
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "StorageClass",
                    "metadata": {"name": name, "annotations": annotations},
                    "provisioner": "simulated.stateward.dev",
                    "parameters": {"where": self.layout.where, "limits": str(name == LIMITED).lower()},
                    "allowVolumeExpansion": expandable,
                    "volumeBindingMode": "WaitForFirstConsumer",
                },
            )
        for zone in range(self.layout.zones):
            for number in range(self.layout.nodes_per_zone):
                self.nodes.add(f"node-{'abcdefghi'[zone]}{number}", f"zone-{'abcdefghi'[zone]}")
