"""The scheduler: assigns pods to nodes by capacity, anti-affinity, taints, selectors and the place of their volumes."""

from collections import Counter
from collections.abc import Iterable

from stateward.api.values.quantity import parse_bytes
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.selectors import selector_matches
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.cluster.context import SimulationContext

PODS, NODES, CLAIMS = "/pods", "/nodes", "/persistentvolumeclaims"
CLASSES = "storage.k8s.io/storageclasses"
ZONE = "topology.kubernetes.io/zone"
NODE_MEMORY = 256 << 30
"""Bytes of memory of each node; only a larger request is refused, because the model counts pods and not memory."""
PATIENCE = 20.0
"""Seconds until an unschedulable pod is tried again."""


class Scheduler:
    """Assigns pods to nodes; `capacity` is the number of pods per node."""

    def __init__(self, context: SimulationContext, capacity: int = 8) -> None:
        self.capacity = capacity
        self._context = context
        self._store = context.store
        self._due: set[Key] = set()
        self._store.subscribers.append(self._on_event)

    def _on_event(self, kind: str, event: Event) -> None:
        pod = event.new
        if kind == PODS and pod is not None and not pod.doc["spec"].get("nodeName") and not pod.terminating:
            self._plan(pod.key, 0.05)
        elif kind in {NODES, CLAIMS} or (kind == PODS and pod is None):
            for waiting in self._store.all(PODS):
                if not waiting.doc["spec"].get("nodeName"):
                    self._plan(waiting.key, 1.0)

    def _plan(self, key: Key, after: float) -> None:
        if key not in self._due:
            self._due.add(key)
            self._context.later(after, self._try, key)

    def _try(self, key: Key) -> None:
        self._due.discard(key)
        pod = self._store.get(PODS, key)
        if pod is None or pod.terminating or pod.doc["spec"].get("nodeName"):
            return
        problem = self._claims_missing(pod)
        verdicts = [(node, self._obstacle(pod, node)) for node in (() if problem else self._store.all(NODES))]
        fits = [node for node, obstacle in verdicts if not obstacle]
        if not fits:
            problem = problem or _verdict([obstacle for _, obstacle in verdicts])
            condition = {"status": "False", "reason": "Unschedulable", "message": problem}
            self._context.change(
                pod, ("status", "conditions"), self._context.conditions(pod, {"PodScheduled": condition})
            )
            self._plan(key, PATIENCE)
            return
        best = min(fits, key=lambda node: (*self._crowd(pod, node), node.key.name))
        bound = self._context.change(pod, ("spec", "nodeName"), best.key.name)
        condition = {"status": "True"}
        self._context.change(
            bound, ("status", "conditions"), self._context.conditions(bound, {"PodScheduled": condition})
        )

    def _claims_missing(self, pod: Stored) -> str:
        for name in claim_names(pod.doc):
            claim = self._store.get(CLAIMS, Key(pod.key.namespace, name))
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if claim.terminating:
                return f'persistentvolumeclaim "{name}" is being deleted'
            wanted = part(claim.doc, "spec")
            named = wanted.get("storageClassName") or ""
            if not wanted.get("volumeName") and self._store.get(CLASSES, Key("", named)) is None:
                nodes = len(self._store.all(NODES))
                return f"0/{nodes} nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
        return ""

    def _obstacle(self, pod: Stored, node: Stored) -> str:
        """Return why a node cannot take a pod, in kube-scheduler's words; empty if it can."""
        if node.doc["spec"].get("unschedulable"):
            return "node(s) were unschedulable"
        taint = next((t for t in _taints(node) if not _tolerated(t, pod)), None)
        if taint is not None:
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
        wanted = part(pod.doc, "spec", "nodeSelector")
        if any(node.labels.get(name) != value for name, value in wanted.items()):
            return "node(s) didn't match Pod's node affinity/selector"
        if not all(self._reaches(pod, name, node) for name in claim_names(pod.doc)):
            return "node(s) had volume node affinity conflict"
        if _memory(pod) > NODE_MEMORY:
            return "Insufficient memory"
        return "Too many pods" if self._load(node) >= self.capacity else ""

    def _reaches(self, pod: Stored, name: str, node: Stored) -> bool:
        claim = self._store.get(CLAIMS, Key(pod.key.namespace, name))
        volume = self._store.get(
            "/persistentvolumes", Key("", part(claim.doc if claim else {}, "spec").get("volumeName", ""))
        )
        return volume is None or all(node.labels.get(k) == v for k, v in part(volume.doc, "spec", "pinned").items())

    def _load(self, node: Stored) -> int:
        return sum(1 for pod in self._store.all(PODS) if pod.doc["spec"].get("nodeName") == node.key.name)

    def _crowd(self, pod: Stored, node: Stored) -> tuple[int, int]:
        """Return the scheduling cost of a node for a pod: its anti-affinities, then the skew of its zone."""
        here = [p for p in self._store.all(PODS) if p.doc["spec"].get("nodeName") == node.key.name]
        affinity = part(pod.doc, "spec", "affinity", "podAntiAffinity")
        dislike = 0
        for term in items(affinity, "preferredDuringSchedulingIgnoredDuringExecution"):
            selector = part(term, "podAffinityTerm", "labelSelector")
            dislike += term["weight"] * sum(selector_matches(selector, p.labels) for p in here)
        return dislike, self._skew(pod, node)

    def _skew(self, pod: Stored, node: Stored) -> int:
        zone = node.labels.get(ZONE, "")
        selectors = [part(c, "labelSelector") for c in items(pod.doc, "spec", "topologySpreadConstraints")]
        names = {n.key.name for n in self._store.all(NODES) if n.labels.get(ZONE, "") == zone}
        there = [p for p in self._store.all(PODS) if p.doc["spec"].get("nodeName") in names]
        return sum(selector_matches(s, p.labels) for s in selectors for p in there)


def claim_names(pod: Doc) -> list[str]:
    """Return the claims that a pod uses."""
    sources: Iterable[Doc] = (part(volume, "persistentVolumeClaim") for volume in items(pod, "spec", "volumes"))
    return [source["claimName"] for source in sources if source]


def _verdict(obstacles: list[str]) -> str:
    """Return kube-scheduler's message for an unschedulable pod."""
    counted = ", ".join(f"{count} {obstacle}" for obstacle, count in sorted(Counter(obstacles).items()))
    return f"0/{len(obstacles)} nodes are available" + (f": {counted}." if counted else ".")


def _memory(pod: Stored) -> int:
    containers = items(pod.doc, "spec", "containers")
    asked = (part(c, "resources", kind).get("memory") for c in containers for kind in ("requests", "limits"))
    return max((parse_bytes(str(size)) for size in asked if size), default=0)


def _taints(node: Stored) -> list[Doc]:
    """Return the taints of a node, and the one that Kubernetes adds to a node that is not ready."""
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in items(node.doc, "status", "conditions"))
    return [*items(node.doc, "spec", "taints"), *([] if ready else [{"key": "node.kubernetes.io/not-ready"}])]


def _tolerated(taint: Doc, pod: Stored) -> bool:
    if taint.get("effect") == "PreferNoSchedule":
        return True
    return any(t.get("key") in {taint["key"], None, ""} for t in items(pod.doc, "spec", "tolerations"))
