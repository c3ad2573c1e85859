"""The StatefulSet controller, for the strategy OnDelete: at most one pod per identity, recreated after its deletion."""

import hashlib
import json

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, part
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.cluster.budgets import ready
from stateward.simulation.cluster.context import SimulationContext

SETS = "apps/statefulsets"
PODS = "/pods"


class StatefulSets:
    """Reconciles StatefulSets; `lag` is the range of its reaction time in seconds."""

    def __init__(self, context: SimulationContext) -> None:
        self.lag = (0.02, 0.3)
        self._context = context
        self._store = context.store
        self._due: set[Key] = set()
        self._store.subscribers.append(self._on_event)

    def _on_event(self, kind: str, event: Event) -> None:
        if kind == SETS:
            if event.new is not None:
                self._plan(event.new.key)
        elif kind == PODS:
            stored = event.new or event.old
            if stored is not None:
                for owner in stored.meta.get("ownerReferences") or ():
                    if owner["kind"] == "StatefulSet":
                        self._plan(Key(stored.key.namespace, owner["name"]))

    def _plan(self, key: Key, after: float = 0.0) -> None:
        if key not in self._due:
            self._due.add(key)
            low, high = self.lag
            self._context.later(after + self._context.rng.uniform(low, high), self._sync, key)

    def _sync(self, key: Key) -> None:
        self._due.discard(key)
        stored = self._store.get(SETS, key)
        if stored is None or stored.terminating:
            return
        revision = _revision(stored)
        replicas = int(stored.doc["spec"].get("replicas", 1))
        for ordinal in range(replicas):
            self._ensure(stored, ordinal, revision)
        for pod in self._pods(stored):
            if int(pod.key.name.rpartition("-")[2]) >= replicas and not pod.terminating:
                self._delete(pod)
        self._report(stored, revision)

    def _ensure(self, owner: Stored, ordinal: int, revision: str) -> None:
        key = Key(owner.key.namespace, f"{owner.key.name}-{ordinal}")
        pod = self._store.get(PODS, key)
        if pod is not None:
            if pod.doc["status"].get("phase") in {"Failed", "Succeeded"} and not pod.terminating:
                self._delete(pod)
            return
        template = owner.doc["spec"]["template"]
        meta = part(template, "metadata")
        labels = {
            **part(meta, "labels"),
            "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": key.name,
        }
        reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner.key.name, "uid": owner.uid}
        body: Doc = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": key.name,
                "labels": labels,
                "annotations": part(meta, "annotations"),
                "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}],
            },
            "spec": template["spec"],
        }
        try:
            self._context.server.create(PODS, key.namespace, body, "statefulset-controller")
        except ApiError:
            self._context.count("pod refused")
            self._plan(owner.key, after=15.0)

    def _delete(self, pod: Stored) -> None:
        self._context.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))

    def _pods(self, owner: Stored) -> list[Stored]:
        return [s for s in self._store.owned_by(owner.uid) if s.kind == PODS]

    def _report(self, stored: Stored, revision: str) -> None:
        pods = self._pods(stored)
        status = {
            "observedGeneration": stored.meta["generation"],
            "replicas": len(pods),
            "readyReplicas": sum(ready(pod) for pod in pods),
            "updateRevision": revision,
            "currentRevision": part(stored.doc, "status").get("currentRevision", revision),
        }
        if pods and all(pod.labels.get("controller-revision-hash") == revision for pod in pods):
            status["currentRevision"] = revision
        self._context.change(stored, ("status",), status)


def _revision(stored: Stored) -> str:
    text = json.dumps(stored.doc["spec"]["template"], sort_keys=True)
    return f"{stored.key.name}-{hashlib.blake2b(text.encode(), digest_size=5).hexdigest()}"
