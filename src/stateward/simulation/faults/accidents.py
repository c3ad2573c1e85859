"""Accidents around a cluster: quotas used by others, lost classes and volumes, restored objects.

Volumes are lost only before any data was written: the loss of a last copy is final, and no operator can help. What must
hold is that no second cluster is formed without the user's consent.
"""

from copy import deepcopy
from typing import TYPE_CHECKING

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.errors import ApiError
from stateward.simulation.cluster.volumes import CLASSES
from stateward.simulation.properties.goal import unmet
from stateward.simulation.world.world import NAME, NAMESPACE

if TYPE_CHECKING:
    from stateward.simulation.apiserver.store import Stored
    from stateward.simulation.faults.faults import FaultTargets

SECRETS, PODS, CLAIMS, SETS = "/secrets", "/pods", "/persistentvolumeclaims", "apps/statefulsets"
ATTENTION = 60.0
"""Seconds after which the user checks a cluster with lost volumes again."""


def nodes_full(targets: "FaultTargets") -> None:
    """Let others take all the room that is left on the nodes, for a while."""
    scheduler, before = targets.world.scheduler, targets.world.layout.capacity

    def leave() -> None:
        scheduler.capacity = before

    scheduler.capacity = targets.chance.choice((0, 1, 2))
    targets.undo.append(leave)
    targets.world.ground.soon(120.0, 1200.0, leave)


def disk_hangs(targets: "FaultTargets") -> None:
    """Let the disk of a node hang for a while: a process that waits for it is ended by no signal."""
    world, node = targets.world, targets.chance.choice(targets.world.nodes.names)
    world.databases.hanging.add(node)
    world.foundations.hanging.add(node)
    world.ground.tell(f"the disk of node {node} hangs")

    def answers() -> None:
        world.databases.hanging.discard(node)
        world.foundations.hanging.discard(node)

    targets.undo.append(answers)
    world.ground.soon(300.0, 1800.0, answers)


def read_only(targets: "FaultTargets") -> None:
    """Make the database read-only for a while, as for a backup: it refuses to change its settings."""
    database = targets.world.database()
    if database is None or database.read_only:
        return
    database.read_only = True
    targets.world.ground.tell("somebody makes the database read-only")

    def writable() -> None:
        database.read_only = False

    targets.undo.append(writable)
    targets.world.ground.soon(60.0, 900.0, writable)


def class_gone(targets: "FaultTargets") -> None:
    """Delete a storage class, and create it again later."""
    world = targets.world
    found = world.store.all(CLASSES)
    if len(found) < 3:
        return
    gone = targets.chance.choice(sorted(found, key=lambda stored: stored.key.name))
    world.store.remove(gone)

    def again() -> None:
        if world.store.get(CLASSES, gone.key) is None:
            meta = {name: gone.meta[name] for name in ("name", "annotations")}
            world.server.create(CLASSES, "", {**gone.doc, "metadata": meta})

    targets.undo.append(again)
    world.ground.soon(120.0, 1200.0, again)


def secret_restored(targets: "FaultTargets") -> None:
    """Restore the Secret of a deleted member, as users do with whole namespaces."""
    owned = [s for s in targets.world.store.all(SECRETS) if _belongs(s)]
    if not owned:
        return
    model = targets.chance.choice(owned)
    name = f"{model.labels[names.LABEL_MEMBER].rpartition('-')[0]}-{targets.chance.randint(20, 29)}"
    meta = {
        "name": name,
        "labels": {**model.labels, names.LABEL_MEMBER: name},
        "ownerReferences": deepcopy(model.meta["ownerReferences"]),
    }
    kept = {part: value for part, value in model.doc.items() if part != "status"}
    try:
        targets.world.server.create(SECRETS, NAMESPACE, {**kept, "metadata": meta}, "restore")
    except ApiError:
        return  # It was restored before, and is still there.
    targets.world.ground.tell(f"somebody restores Secret {name}")


def phase_taken_off(targets: "FaultTargets") -> None:
    """Remove the annotation from a pod that records its restart in place."""
    pods = (pod for pod in targets.world.store.all(PODS) if not pod.terminating)
    going = [pod for pod in pods if pod.meta.get("annotations", {}).get(names.ANNOTATION_PHASE)]
    if not going:
        return
    pod = targets.chance.choice(going)
    kept = {name: value for name, value in pod.meta["annotations"].items() if name != names.ANNOTATION_PHASE}
    meta = {**pod.meta, "annotations": kept}
    targets.world.ground.tell(f"somebody takes the restart off pod {pod.key.name}")
    targets.world.server.update(PODS, pod.key, {**pod.doc, "metadata": meta}, manager="kubectl")


def volumes_lost(targets: "FaultTargets") -> None:
    """Lose the volumes of a cluster in which nothing is yet: of its first member while it is formed, or else of all."""
    world = targets.world
    there = (s for s in world.store.all(CLAIMS) if _belongs(s) and not s.terminating)
    claims = sorted(there, key=lambda stored: stored.key.name)
    if targets.empty is False or not claims or any(cluster.shards for cluster in world.formed()):
        targets.empty = False
        return
    grant = (world.resource() or claims[0]).doc.get("status", {}).get("bootstrap", {})
    lost = claims if grant.get("formed") else [c for c in claims if c.uid == grant.get("volume")]
    if not lost:
        return
    targets.empty = True
    world.ground.count(f"volumes lost {'after' if grant.get('formed') else 'before'} the cluster was formed")
    for claim in lost:
        lose(targets, claim)
    world.ground.later(ATTENTION, _attend, targets)


def lose(targets: "FaultTargets", claim: "Stored") -> None:
    """Lose a volume: its claim and its pod are deleted, and the claim is created again."""
    world = targets.world
    world.ground.tell(f"the volume {claim.key.name} is lost, and somebody makes it anew")
    member = claim.labels[names.LABEL_MEMBER]
    pod = next((p for p in world.store.all(PODS) if p.key.name == names.pod(member)), None)
    world.server.delete(CLAIMS, claim.key, DeleteOptions(Preconditions(claim.uid)))
    if pod is not None:
        run = world.kubelets.runs.get(pod.uid)
        if run is not None:
            world.kubelets.crash(run, 1, "its volume is gone")
        world.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))
    world.ground.later(5.0, _renew, targets, claim)


def _renew(targets: "FaultTargets", claim: "Stored") -> None:
    world = targets.world
    if all(s.key.name != claim.labels[names.LABEL_MEMBER] for s in world.store.all(SETS)):
        return
    if world.store.get(CLAIMS, claim.key) is not None:
        world.ground.later(5.0, _renew, targets, claim)
        return
    kept = {name: value for name, value in claim.meta.items() if name in {"name", "labels", "annotations"}}
    spec = {name: value for name, value in claim.doc["spec"].items() if name != "volumeName"}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": kept, "spec": spec}
    try:
        world.server.create(CLAIMS, NAMESPACE, body, "kubectl")
    except ApiError:
        world.ground.later(30.0, _renew, targets, claim)  # A quota is in the way.


def _attend(targets: "FaultTargets") -> None:
    """Let the user confirm, as often as needed, that no data is lost, until the cluster is formed."""
    targets.user.consent()
    if unmet(targets.world):
        targets.world.ground.later(ATTENTION, _attend, targets)
    else:
        targets.empty = None


def _belongs(stored: "Stored") -> bool:
    return stored.labels.get(names.LABEL_CLUSTER) == NAME and bool(stored.labels.get(names.LABEL_MEMBER))
