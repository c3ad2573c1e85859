"""Nodes: loss, return, removal, drain and taints, and what Kubernetes does with their pods."""

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.kubelet import Kubelets
from stateward.simulation.cluster.scheduler import NODES, PODS, ZONE

TAINT = "example.com/maintenance"
"""Key of the taint that faults put on nodes."""

MONITOR = 40.0
"""Seconds without a kubelet's heartbeat after which its node is not ready."""
TOLERATION = 300.0
"""Seconds that pods tolerate a node that is not ready."""


class Nodes:
    """All nodes of a world."""

    def __init__(self, context: SimulationContext, kubelets: Kubelets) -> None:
        self._context = context
        self._store = context.store
        self._kubelets = kubelets
        self.draining: set[str] = set()

    def add(self, name: str, zone: str) -> None:
        """Add a node that is ready."""
        labels = {"kubernetes.io/hostname": name, ZONE: zone}
        body: Doc = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {}}
        stored = self._context.server.create(NODES, "", body, "kubelet")
        self._context.change(stored, ("status",), {"conditions": [{"type": "Ready", "status": "True"}]})

    @property
    def names(self) -> list[str]:
        """The names of all nodes."""
        return [node.key.name for node in self._store.all(NODES)]

    def zone(self, name: str) -> str:
        """Return the zone of a node."""
        node = self._store.get(NODES, Key("", name))
        return node.labels.get(ZONE, "") if node else ""

    def lose(self, name: str, *, power: bool) -> None:
        """Cut a node off, with or without its processes."""
        if name in self._kubelets.cut_off or name not in self.names:
            return
        self._context.trace(f"node {name} is {'without power' if power else 'cut off, and its processes run on'}")
        self._kubelets.cut_off.add(name)
        if power:
            self._kubelets.power_off(name)
        self._context.later(MONITOR, self._notice, name)

    def restore(self, name: str) -> None:
        """Bring a node back."""
        if name not in self._kubelets.cut_off:
            return
        self._context.trace(f"node {name} is back")
        self._kubelets.back(name)
        self._ready(name, "True")

    def remove(self, name: str) -> None:
        """Remove a node; its pods are garbage-collected."""
        node = self._store.get(NODES, Key("", name))
        if node is None:
            return
        self._context.trace(f"node {name} is removed")
        self._kubelets.cut_off.add(name)
        self._kubelets.power_off(name)
        self._store.remove(node)
        self._context.later(MONITOR, self._collect, name)

    def cordon(self, name: str, *, on: bool) -> None:
        """Cordon or uncordon a node."""
        node = self._store.get(NODES, Key("", name))
        if node is not None:
            self._context.change(node, ("spec", "unschedulable"), on)

    def drain(self, name: str) -> None:
        """Cordon a node and evict its pods, as `kubectl drain` does, until it is empty or uncordoned."""
        self._context.trace(f"node {name} is drained")
        self.cordon(name, on=True)
        self.draining.add(name)
        self._evict(name)

    def undrain(self, name: str) -> None:
        """Stop draining a node and let pods on it again."""
        if name in self.draining:
            self._context.trace(f"node {name} takes pods again")
            self.draining.discard(name)
            self.cordon(name, on=False)

    def taint(self, name: str, *, on: bool, key: str = TAINT, effect: str = "NoExecute") -> None:
        """Add or remove a taint; NoExecute evicts the pods on the node."""
        node = self._store.get(NODES, Key("", name))
        if node is None:
            return
        taints = [{"key": key, "effect": effect}] if on else []
        self._context.trace(f"node {name} is {'tainted' if on else 'no longer tainted'}")
        self._context.change(node, ("spec", "taints"), taints)
        if on and effect == "NoExecute":
            for pod in self.pods(name):
                self._delete(pod)

    def pods(self, name: str) -> list[Stored]:
        """Return the pods on a node."""
        return [pod for pod in self._store.all(PODS) if pod.doc["spec"].get("nodeName") == name]

    def evict_failed(self, pod: Stored) -> None:
        """Evict a pod as a kubelet under pressure does: the pod fails, and its process is killed."""
        run = self._kubelets.runs.get(pod.uid)
        if run is None or run.node in self._kubelets.cut_off:
            return
        self._context.trace(f"pod {pod.key.name} is evicted by its kubelet")
        if run.process is not None:
            run.process.kill()
            run.process = None
        run.stopping = run.gone = True
        self._kubelets.runs.pop(pod.uid, None)
        self._kubelets.forget(run)
        status = {**part(pod.doc, "status"), "phase": "Failed", "reason": "Evicted", "message": "low on memory"}
        status["conditions"] = self._context.conditions(pod, {"Ready": {"status": "False"}})
        self._context.change(pod, ("status",), status)

    def _notice(self, name: str) -> None:
        if name not in self._kubelets.cut_off:
            return
        self._ready(name, "Unknown")
        for pod in self.pods(name):
            conditions = self._context.conditions(pod, {"Ready": {"status": "False", "reason": "NodeNotReady"}})
            self._context.change(pod, ("status", "conditions"), conditions)
        self._context.later(TOLERATION, self._give_up, name)

    def _give_up(self, name: str) -> None:
        node = self._store.get(NODES, Key("", name))
        if name not in self._kubelets.cut_off or node is None:
            return
        for pod in self.pods(name):
            self._context.count("pod stuck in Terminating")
            self._delete(pod)

    def _collect(self, name: str) -> None:
        for pod in self.pods(name):
            run = self._kubelets.runs.pop(pod.uid, None)
            if run is not None:
                self._kubelets.forget(run)
            self._context.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid), grace_seconds=0))

    def _evict(self, name: str) -> None:
        if name not in self.draining:
            return
        for pod in self.pods(name):
            if pod.terminating or not pod.meta.get("ownerReferences"):
                continue
            try:
                self._context.server.evict(pod.key, DeleteOptions(Preconditions(pod.uid)))
                self._context.count("pod evicted by a drain")
                self._context.trace(f"pod {pod.key.name} is evicted")
            except ApiError:
                self._context.count("eviction refused by a budget")
        if self.pods(name):
            self._context.later(5.0, self._evict, name)

    def _delete(self, pod: Stored) -> None:
        if not pod.terminating and items(pod.doc, "metadata", "ownerReferences"):
            self._context.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))

    def _ready(self, name: str, status: str) -> None:
        node = self._store.get(NODES, Key("", name))
        if node is not None:
            conditions = self._context.conditions(node, {"Ready": {"status": status}})
            self._context.change(node, ("status", "conditions"), conditions)
