"""The Deployment controller: a ReplicaSet's worth of pods for each template, and a rollout that adds before it removes.

Pods carry an owner of the kind ReplicaSet, as real ones do; the ReplicaSets themselves are not objects here.
"""

import hashlib
import json

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, part
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.cluster.budgets import ready
from stateward.simulation.cluster.context import SimulationContext

DEPLOYMENTS = "apps/deployments"
PODS = "/pods"
HASH = "pod-template-hash"


class Deployments:
    """Reconciles Deployments; `lag` is the range of its reaction time in seconds."""

    def __init__(self, context: SimulationContext) -> None:
        self.lag = (0.02, 0.5)
        self._context = context
        self._due: set[Key] = set()
        context.store.subscribers.append(self._on_event)

    def _on_event(self, kind: str, event: Event) -> None:
        if kind == DEPLOYMENTS and event.new is not None:
            self._plan(event.new.key)
        elif kind == PODS:
            stored = event.new or event.old
            for owner in (stored.meta.get("ownerReferences") or ()) if stored is not None else ():
                if stored is not None and owner["kind"] == "ReplicaSet":
                    self._plan(Key(stored.key.namespace, owner["name"].rpartition("-")[0]))

    def _plan(self, key: Key) -> None:
        if key not in self._due:
            self._due.add(key)
            self._context.later(self._context.rng.uniform(*self.lag), self._sync, key)

    def _sync(self, key: Key) -> None:
        self._due.discard(key)
        stored = self._context.store.get(DEPLOYMENTS, key)
        if stored is None or stored.terminating:
            return
        revision, wanted = _revision(stored), int(stored.doc["spec"].get("replicas", 1))
        alive = [pod for pod in self._pods(stored) if not pod.terminating]
        new = [pod for pod in alive if pod.labels.get(HASH) == revision]
        old = [pod for pod in alive if pod.labels.get(HASH) != revision]
        for _ in range(min(wanted - len(new), wanted + 1 - len(alive))):
            self._create(stored, revision)
        for pod in new[wanted:]:
            self._delete(pod)
        spare = len(alive) - wanted if wanted == 0 else sum(ready(pod) for pod in alive) - wanted
        for pod in sorted(old, key=ready)[: max(0, spare)]:
            self._delete(pod)
        for pod in old:
            if not ready(pod) and len(alive) > wanted:
                self._delete(pod)
        self._report(stored, revision)

    def _create(self, owner: Stored, revision: str) -> None:
        template = owner.doc["spec"]["template"]
        meta = part(template, "metadata")
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{owner.key.name}-{revision}"}
        body: Doc = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "generateName": f"{owner.key.name}-{revision}-",
                "labels": {**part(meta, "labels"), HASH: revision},
                "annotations": part(meta, "annotations"),
                "ownerReferences": [{**reference, "uid": owner.uid, "controller": True}],
            },
            "spec": {**template["spec"], "nodeName": "node-a"},
        }
        self._context.server.create(PODS, owner.key.namespace, body, "deployment-controller")

    def _delete(self, pod: Stored) -> None:
        self._context.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))

    def _pods(self, owner: Stored) -> list[Stored]:
        return [stored for stored in self._context.store.owned_by(owner.uid) if stored.kind == PODS]

    def _report(self, stored: Stored, revision: str) -> None:
        pods = [pod for pod in self._pods(stored) if not pod.terminating]
        status = {
            "observedGeneration": stored.meta["generation"],
            "replicas": len(pods),
            "updatedReplicas": sum(pod.labels.get(HASH) == revision for pod in pods),
            "readyReplicas": sum(ready(pod) for pod in pods),
        }
        self._context.change(stored, ("status",), status)


def _revision(stored: Stored) -> str:
    text = json.dumps(stored.doc["spec"]["template"], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
