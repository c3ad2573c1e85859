"""Faults of objects and data, caused by other users: quotas, storage classes, Secrets, volumes, and the cluster itself.

Volumes are lost only before any data was written: the loss of a last copy is final, and no operator can help. The
property that must hold is that no second cluster is formed without the user's consent.
"""

from copy import deepcopy

from stateward.api.values import names
from stateward.api.values.base import API_VERSION
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import items
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.cluster.volumes import CLASSES
from stateward.simulation.faults.targets import FaultTargets
from stateward.simulation.opensearch.allocation import LOW_WATERMARK
from stateward.simulation.properties.goal import unmet
from stateward.simulation.properties.pool_sizes import POOL_SCALES
from stateward.simulation.world.world import NAME, NAMESPACE

SECRETS, PODS, CLAIMS, SETS = "/secrets", "/pods", "/persistentvolumeclaims", "apps/statefulsets"
CONFIRM_INTERVAL = 60.0
"""Seconds after which the user checks a cluster with lost volumes again."""


def quota(targets: FaultTargets) -> None:
    """Forbid more pods or claims for a while."""
    admission, store = targets.world.server.admission, targets.world.store
    kind = targets.rng.choice(("/pods", "/persistentvolumeclaims", "apps/statefulsets"))
    targets.world.context.trace(f"a quota allows no more {kind}")
    admission.quota[NAMESPACE, kind] = len(store.all(kind)) - targets.rng.randint(0, 1)
    targets.reverts.append(admission.quota.clear)
    targets.world.context.soon(60.0, 600.0, admission.quota.clear)


def class_deleted(targets: FaultTargets) -> None:
    """Delete a storage class, and recreate it later."""
    world = targets.world
    found = world.store.all(CLASSES)
    if len(found) < 3:
        return
    gone = targets.rng.choice(sorted(found, key=lambda stored: stored.key.name))
    world.store.remove(gone)

    def again() -> None:
        if world.store.get(CLASSES, gone.key) is None:
            meta = {name: gone.meta[name] for name in ("name", "annotations")}
            world.server.create(CLASSES, "", {**gone.doc, "metadata": meta})

    targets.reverts.append(again)
    world.context.soon(120.0, 1200.0, again)


def secret_restored(targets: FaultTargets) -> None:
    """Restore the Secret of a deleted member, as a restore of the namespace does."""
    owned = [s for s in targets.world.store.all(SECRETS) if _is_member_object(s)]
    if not owned:
        return
    model = targets.rng.choice(owned)
    name = f"{model.labels[names.LABEL_MEMBER].rpartition('-')[0]}-{targets.rng.randint(20, 29)}"
    meta = {
        "name": name,
        "labels": {**model.labels, names.LABEL_MEMBER: name},
        "ownerReferences": deepcopy(model.meta["ownerReferences"]),
    }
    kept = {part: value for part, value in model.doc.items() if part != "status"}
    try:
        targets.world.server.create(SECRETS, NAMESPACE, {**kept, "metadata": meta}, "restore")
    except ApiError:
        return  # It was restored earlier, and still exists.
    targets.world.context.trace(f"a user restores Secret {name}")


def volumes_lost(targets: FaultTargets) -> None:
    """Lose volumes of a cluster without data: that of its first member during bootstrap, or else all."""
    world = targets.world
    there = (s for s in world.store.all(CLAIMS) if _is_member_object(s) and not s.terminating)
    claims = sorted(there, key=lambda stored: stored.key.name)
    if targets.empty is False or not claims or any(cluster.shards for cluster in world.formed()):
        targets.empty = False
        return
    grant = (world.resource() or claims[0]).doc.get("status", {}).get("bootstrap", {})
    lost = claims if grant.get("formed") else [c for c in claims if c.uid == grant.get("volume")]
    if not lost:
        return
    targets.empty = True
    world.context.count(f"volumes lost {'after' if grant.get('formed') else 'before'} the cluster was formed")
    for claim in lost:
        lose(targets, claim)
    world.context.later(CONFIRM_INTERVAL, _confirm_until_formed, targets)


def lose(targets: FaultTargets, claim: "Stored") -> None:
    """Lose a volume: delete its claim and its pod, and recreate the claim."""
    world = targets.world
    world.context.trace(f"the volume {claim.key.name} is lost, and a user recreates it")
    member = claim.labels[names.LABEL_MEMBER]
    pod = next((p for p in world.store.all(PODS) if p.key.name == names.pod(member)), None)
    world.server.delete(CLAIMS, claim.key, DeleteOptions(Preconditions(claim.uid)))
    if pod is not None:
        run = world.kubelets.runs.get(pod.uid)
        if run is not None:
            world.kubelets.crash(run, 1, "its volume is gone")
        world.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))
    world.context.later(5.0, _recreate_claim, targets, claim)


def _recreate_claim(targets: FaultTargets, claim: "Stored") -> None:
    world = targets.world
    if all(s.key.name != claim.labels[names.LABEL_MEMBER] for s in world.store.all(SETS)):
        return
    if world.store.get(CLAIMS, claim.key) is not None:
        world.context.later(5.0, _recreate_claim, targets, claim)
        return
    kept = {name: value for name, value in claim.meta.items() if name in {"name", "labels", "annotations"}}
    spec = {name: value for name, value in claim.doc["spec"].items() if name != "volumeName"}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": kept, "spec": spec}
    try:
        world.server.create(CLAIMS, NAMESPACE, body, "kubectl")
    except ApiError:
        world.context.later(30.0, _recreate_claim, targets, claim)  # A quota forbids it.


def _confirm_until_formed(targets: FaultTargets) -> None:
    """Let the user confirm that no data is lost, until the cluster is formed."""
    targets.user.confirm_bootstrap()
    if unmet(targets.world):
        targets.world.context.later(CONFIRM_INTERVAL, _confirm_until_formed, targets)
    else:
        targets.empty = None


def _is_member_object(stored: "Stored") -> bool:
    return stored.labels.get(names.LABEL_CLUSTER) == NAME and bool(stored.labels.get(names.LABEL_MEMBER))


def recreated(targets: FaultTargets) -> None:
    """Delete the cluster resource, and recreate it at once or later."""
    targets.user.delete()
    targets.reverts.append(targets.user.create)
    targets.world.context.soon(0.0, 120.0, targets.user.create)


def read_only(targets: FaultTargets) -> None:
    """Make the database read-only for a while, as for a backup: it refuses changes of settings."""
    database = targets.world.database()
    if database is None or database.read_only:
        return
    database.read_only = True
    targets.world.context.trace("a user makes the database read-only")

    def writable() -> None:
        database.read_only = False

    targets.reverts.append(writable)
    targets.world.context.soon(60.0, 900.0, writable)


def new_index(targets: FaultTargets) -> None:
    """Create an index with one to three copies; its primary may be placed on the only upgraded node."""
    database = targets.world.database()
    if database is None or not database.managed or len(database.shards) >= 14 or targets.empty:
        return
    spread = targets.rng.choice(("false", "false", "false", "0-1", "0-all"))
    replicas = targets.rng.choice((0, 1, 1, 1, 1, 2)) if spread == "false" else 1
    name = f"index-{len(database.shards)}"
    size = targets.rng.choice((5, 50, 500)) * 2**20
    database.create_index(name, replicas, size, targets.rng.uniform(0.1, 20.0), spread=spread)
    if replicas == 2:
        # At the end an index must not need more copies than there are members.
        targets.reverts.append(lambda: database.follow(name, "0-2"))


def disk_filled(targets: FaultTargets) -> None:
    """Let an index grow until its fullest disk is nearly at the watermark; its documents are deleted at the end."""
    database = targets.world.database()
    shards = [s for s in database.shards if s.primary.active] if database is not None and not targets.empty else []
    if database is None or not shards:
        return
    shard, before = (chosen := targets.rng.choice(shards)), chosen.size
    rooms = [
        int(node.disk.capacity * (LOW_WATERMARK - 0.01)) - sum(s.size for s in database.shards if s.on(node.id))
        for node in database.nodes.values()
        if shard.on(node.id)
    ]
    shard.size += max(0, int(min(rooms, default=0) * targets.rng.uniform(0.3, 1.0)))

    def deleted() -> None:
        shard.size = before
        database.allocator.begin_again(shard)

    targets.reverts.append(deleted)


def pool_scale_written(targets: FaultTargets) -> None:
    """Let an autoscaler write how many members a pool should have: a PoolScale of its name, which may end, too."""
    world, rng, resource = targets.world, targets.rng, targets.world.resource()
    if resource is None:
        return
    pool = rng.choice(items(resource.doc, "spec", "pools"))["name"]
    found = world.store.get(POOL_SCALES, Key(NAMESPACE, pool))
    if found is not None and rng.random() < 0.2:
        world.server.delete(POOL_SCALES, found.key, DeleteOptions(Preconditions(found.uid)))
        return
    spec = {"cluster": {"kind": resource.doc["kind"], "name": NAME}, "pool": pool, "replicas": rng.randint(0, 8)}
    if found is not None:
        world.server.patch(POOL_SCALES, found.key, {"spec": spec}, PatchKind.MERGE)
        return
    head = {"apiVersion": API_VERSION, "kind": "PoolScale", "metadata": {"name": pool}}
    world.server.create(POOL_SCALES, NAMESPACE, {**head, "spec": spec})


def edit(targets: FaultTargets) -> None:
    """Let the user edit the cluster resource."""
    targets.user.make_edit()
