"""Projections of Nodes and Services."""

from msgspec import field

from stateward.kube.objects.metadata import ObjectMeta, WireRecord
from stateward.kube.objects.pods import Condition, condition_holds

_ZONE_LABEL = "topology.kubernetes.io/zone"


class Taint(WireRecord):
    """A taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(WireRecord):
    """Scheduling settings: `kubectl cordon` sets `unschedulable`."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(WireRecord):
    """The status from the kubelet, or from the node controller if the kubelet is silent."""

    conditions: tuple[Condition, ...] = ()
    allocatable: dict[str, str] = field(default_factory=dict)
    """Resources that pods may request, as quantities."""


class Node(WireRecord):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        """Whether the kubelet reports the node as ready."""
        return condition_holds(self.status.conditions, "Ready")

    @property
    def zone(self) -> str:
        """The failure zone; empty if unknown."""
        return self.metadata.labels.get(_ZONE_LABEL, "")


class ServicePort(WireRecord):
    """One port of a Service."""

    name: str = ""
    port: int = 0
    target_port: int | str | None = None


class ServiceSpec(WireRecord):
    """Selector and address of a Service; a headless one has the address "None"."""

    type: str = "ClusterIP"
    cluster_ip: str = field(default="", name="clusterIP")
    selector: dict[str, str] = field(default_factory=dict)
    ports: tuple[ServicePort, ...] = ()


class Service(WireRecord):
    """A Service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
