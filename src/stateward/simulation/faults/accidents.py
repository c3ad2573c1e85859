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
    from stateward.simulation.faults.faults import Stage

SECRETS, PODS, CLAIMS, SETS = "/secrets", "/pods", "/persistentvolumeclaims", "apps/statefulsets"
ATTENTION = 60.0
"""Seconds after which the user checks a cluster with lost volumes again."""


def nodes_full(stage: "Stage") -> None:
    """Let others take all the room that is left on the nodes, for a while."""
    scheduler, before = stage.world.scheduler, stage.world.layout.capacity

    def leave() -> None:
        scheduler.capacity = before

    scheduler.capacity = stage.chance.choice((0, 1, 2))
    stage.undo.append(leave)
    stage.world.ground.soon(120.0, 1200.0, leave)


def disk_hangs(stage: "Stage") -> None:
    """Let the disk of a node hang for a while: a process that waits for it is ended by no signal."""
    world, node = stage.world, stage.chance.choice(stage.world.nodes.names)
    world.databases.hanging.add(node)
    world.foundations.hanging.add(node)
    world.ground.tell(f"the disk of node {node} hangs")

    def answers() -> None:
        world.databases.hanging.discard(node)
        world.foundations.hanging.discard(node)

    stage.undo.append(answers)
    world.ground.soon(300.0, 1800.0, answers)


def read_only(stage: "Stage") -> None:
    """Make the database read-only for a while, as for a backup: it refuses to change its settings."""
    database = stage.world.database()
    if database is None or database.read_only:
        return
    database.read_only = True
    stage.world.ground.tell("somebody makes the database read-only")

    def writable() -> None:
        database.read_only = False

    stage.undo.append(writable)
    stage.world.ground.soon(60.0, 900.0, writable)


def class_gone(stage: "Stage") -> None:
    """Delete a storage class, and create it again later."""
    world = stage.world
    found = world.store.all(CLASSES)
    if len(found) < 3:
        return
    gone = stage.chance.choice(sorted(found, key=lambda stored: stored.key.name))
    world.store.remove(gone)

    def again() -> None:
        if world.store.get(CLASSES, gone.key) is None:
            meta = {name: gone.meta[name] for name in ("name", "annotations")}
            world.server.create(CLASSES, "", {**gone.doc, "metadata": meta})

    stage.undo.append(again)
    world.ground.soon(120.0, 1200.0, again)


def secret_restored(stage: "Stage") -> None:
    """Restore the Secret of a deleted member, as users do with whole namespaces."""
    owned = [s for s in stage.world.store.all(SECRETS) if _belongs(s)]
    if not owned:
        return
    model = stage.chance.choice(owned)
    name = f"{model.labels[names.LABEL_MEMBER].rpartition('-')[0]}-{stage.chance.randint(20, 29)}"
    meta = {
        "name": name,
        "labels": {**model.labels, names.LABEL_MEMBER: name},
        "ownerReferences": deepcopy(model.meta["ownerReferences"]),
    }
    kept = {part: value for part, value in model.doc.items() if part != "status"}
    try:
        stage.world.server.create(SECRETS, NAMESPACE, {**kept, "metadata": meta}, "restore")
    except ApiError:
        return  # It was restored before, and is still there.
    stage.world.ground.tell(f"somebody restores Secret {name}")


def phase_taken_off(stage: "Stage") -> None:
    """Remove the annotation from a pod that records its restart in place."""
    pods = (pod for pod in stage.world.store.all(PODS) if not pod.terminating)
    going = [pod for pod in pods if pod.meta.get("annotations", {}).get(names.ANNOTATION_PHASE)]
    if not going:
        return
    pod = stage.chance.choice(going)
    kept = {name: value for name, value in pod.meta["annotations"].items() if name != names.ANNOTATION_PHASE}
    meta = {**pod.meta, "annotations": kept}
    stage.world.ground.tell(f"somebody takes the restart off pod {pod.key.name}")
    stage.world.server.update(PODS, pod.key, {**pod.doc, "metadata": meta}, manager="kubectl")


def volumes_lost(stage: "Stage") -> None:
    """Lose the volumes of a cluster in which nothing is yet: of its first member while it is formed, or else of all."""
    world = stage.world
    there = (s for s in world.store.all(CLAIMS) if _belongs(s) and not s.terminating)
    claims = sorted(there, key=lambda stored: stored.key.name)
    if stage.empty is False or not claims or any(cluster.shards for cluster in world.formed()):
        stage.empty = False
        return
    grant = (world.resource() or claims[0]).doc.get("status", {}).get("bootstrap", {})
    lost = claims if grant.get("formed") else [c for c in claims if c.uid == grant.get("volume")]
    if not lost:
        return
    stage.empty = True
    world.ground.count(f"volumes lost {'after' if grant.get('formed') else 'before'} the cluster was formed")
    for claim in lost:
        lose(stage, claim)
    world.ground.later(ATTENTION, _attend, stage)


def lose(stage: "Stage", claim: "Stored") -> None:
    """Lose a volume: its claim and its pod are deleted, and the claim is created again."""
    world = stage.world
    world.ground.tell(f"the volume {claim.key.name} is lost, and somebody makes it anew")
    member = claim.labels[names.LABEL_MEMBER]
    pod = next((p for p in world.store.all(PODS) if p.key.name == names.pod(member)), None)
    world.server.delete(CLAIMS, claim.key, DeleteOptions(Preconditions(claim.uid)))
    if pod is not None:
        run = world.kubelets.runs.get(pod.uid)
        if run is not None:
            world.kubelets.crash(run, 1, "its volume is gone")
        world.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))
    world.ground.later(5.0, _renew, stage, claim)


def _renew(stage: "Stage", claim: "Stored") -> None:
    world = stage.world
    if all(s.key.name != claim.labels[names.LABEL_MEMBER] for s in world.store.all(SETS)):
        return
    if world.store.get(CLAIMS, claim.key) is not None:
        world.ground.later(5.0, _renew, stage, claim)
        return
    kept = {name: value for name, value in claim.meta.items() if name in {"name", "labels", "annotations"}}
    spec = {name: value for name, value in claim.doc["spec"].items() if name != "volumeName"}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": kept, "spec": spec}
    try:
        world.server.create(CLAIMS, NAMESPACE, body, "kubectl")
    except ApiError:
        world.ground.later(30.0, _renew, stage, claim)  # A quota is in the way.


def _attend(stage: "Stage") -> None:
    """Let the user confirm, as often as needed, that no data is lost, until the cluster is formed."""
    stage.user.consent()
    if unmet(stage.world):
        stage.world.ground.later(ATTENTION, _attend, stage)
    else:
        stage.empty = None


def _belongs(stored: "Stored") -> bool:
    return stored.labels.get(names.LABEL_CLUSTER) == NAME and bool(stored.labels.get(names.LABEL_MEMBER))
