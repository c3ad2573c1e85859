"""Volumes: binding on first use, topology, expansion, protection and reclaim."""

from collections.abc import Callable

from stateward.api.values.quantity import parse_bytes
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.apiserver.writing import deletion
from stateward.simulation.apiserver.writing.admission import CLAIM_PROTECTION
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.scheduler import CLAIMS, CLASSES, NODES, PODS, ZONE, claim_names

VOLUMES = "/persistentvolumes"
RETRY = 5.0
"""Seconds until the provisioner tries again to bind a claim whose class does not exist."""
DEFAULT = "storageclass.kubernetes.io/is-default-class"


class Volumes:
    """Provisions, expands, protects and reclaims; `lost` is called with the UID of each claim whose data is deleted."""

    def __init__(self, context: SimulationContext) -> None:
        self.lost: Callable[[str], None] = lambda _: None
        self.sized: Callable[[str, int], None] = lambda _uid, _size: None
        """Called with the UID of a claim and its bytes when it has another size, if its class limits disks to it."""
        self.grow_seconds = (2.0, 30.0)
        self._context = context
        self._store = context.store
        self._store.subscribers.append(self._on_event)

    def _on_event(self, kind: str, event: Event) -> None:
        if kind == PODS:
            self._pod(event.new, event.old)
        elif kind == CLAIMS and event.new is not None:
            self._claim(event.new)
        elif kind == CLAIMS and event.old is not None:
            self._reclaim(event.old)
        elif kind == CLASSES and event.new is not None and event.new.meta.get("annotations", {}).get(DEFAULT) == "true":
            self._adopt(event.new.key.name)

    def _pod(self, new: Stored | None, old: Stored | None) -> None:
        placed = new is not None and new.doc["spec"].get("nodeName")
        if new is not None and placed and (old is None or not old.doc["spec"].get("nodeName")):
            for name in claim_names(new.doc):
                self._context.soon(0.2, 2.0, self._bind, Key(new.key.namespace, name), new)
        elif new is None and old is not None:
            for name in claim_names(old.doc):
                self._context.later(0.5, self._release, Key(old.key.namespace, name))

    def _claim(self, claim: Stored) -> None:
        if claim.terminating:
            self._context.later(0.5, self._release, claim.key)
        elif _bytes(claim.doc, "spec", "resources", "requests") > _capacity(claim.doc) > 0:
            self._context.soon(*self.grow_seconds, self._grow, claim.key)
            self._context.later(0.5, self._resizing, claim.key)

    def _bind(self, key: Key, pod: Stored) -> None:
        """Bind a claim to a volume where its pod was placed; tried again while its class does not exist."""
        node_name = pod.doc["spec"]["nodeName"]
        claim, node = self._store.get(CLAIMS, key), self._store.get(NODES, Key("", node_name))
        if claim is None or node is None or part(claim.doc, "spec").get("volumeName"):
            return
        cls = self._store.get(CLASSES, Key("", part(claim.doc, "spec").get("storageClassName") or ""))
        if cls is None:
            user = self._store.get(PODS, pod.key)
            if user is not None and user.uid == pod.uid:
                self._context.later(RETRY, self._bind, key, pod)
            return
        where = part(cls.doc, "parameters").get("where", "node")
        pins = {"node": {"kubernetes.io/hostname": node_name}, "zone": {ZONE: node.labels.get(ZONE, "")}}
        name, size = f"pv-{claim.uid[-6:]}", claim.doc["spec"]["resources"]["requests"]["storage"]
        body: Doc = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": size},
                "claimRef": {"namespace": key.namespace, "name": key.name, "uid": claim.uid},
                "storageClassName": cls.key.name,
                "pinned": pins.get(where, {}),
            },
        }
        self._context.server.create(VOLUMES, "", body, "provisioner")
        bound = self._context.change(claim, ("spec", "volumeName"), name)
        bound = self._context.change(bound, ("status",), {"phase": "Bound", "capacity": {"storage": size}})
        self._limit(bound)

    def _grow(self, key: Key) -> None:
        claim = self._store.get(CLAIMS, key)
        if claim is not None and part(claim.doc, "status").get("phase") == "Bound":
            size = claim.doc["spec"]["resources"]["requests"]
            status: Doc = {**claim.doc["status"], "capacity": size, "conditions": []}
            self._limit(self._context.change(claim, ("status",), status))

    def _limit(self, claim: Stored) -> None:
        cls = self._store.get(CLASSES, Key("", part(claim.doc, "spec").get("storageClassName") or ""))
        if cls is not None and part(cls.doc, "parameters").get("limits") == "true":
            self.sized(claim.uid, _capacity(claim.doc))

    def _resizing(self, key: Key) -> None:
        """Set the condition FileSystemResizePending, as the resizer does after the volume was expanded."""
        claim = self._store.get(CLAIMS, key)
        if claim is not None and _bytes(claim.doc, "spec", "resources", "requests") > _capacity(claim.doc):
            message = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
            condition = {"type": "FileSystemResizePending", "status": "True", "message": message}
            self._context.change(claim, ("status", "conditions"), [condition])

    def _adopt(self, default: str) -> None:
        """Assign a new default class to claims that have no class."""
        for claim in self._store.all(CLAIMS):
            if not part(claim.doc, "spec").get("storageClassName"):
                self._context.change(claim, ("spec", "storageClassName"), default)

    def _release(self, key: Key) -> None:
        """Remove a deleted claim once no pod uses it; a pod without a node cannot start on it any more."""
        claim = self._store.get(CLAIMS, key)
        if claim is None or not claim.terminating or CLAIM_PROTECTION not in items(claim.doc, "metadata", "finalizers"):
            return
        placed = (p for p in self._store.all(PODS) if p.doc["spec"].get("nodeName"))
        users = (p for p in placed if p.key.namespace == key.namespace)
        if not any(key.name in claim_names(pod.doc) for pod in users):
            deletion.finalize(self._store, claim, CLAIM_PROTECTION)

    def _reclaim(self, claim: Stored) -> None:
        volume = self._store.get(VOLUMES, Key("", part(claim.doc, "spec").get("volumeName", "")))
        if volume is not None:
            self._store.remove(volume)
        self.lost(claim.uid)


def _capacity(doc: Doc) -> int:
    return _bytes(doc, "status", "capacity")


def _bytes(doc: Doc, *path: str) -> int:
    text = part(doc, *path).get("storage")
    return parse_bytes(str(text)) if text else 0
