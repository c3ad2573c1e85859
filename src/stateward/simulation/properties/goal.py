"""Compares a world with its cluster resource, from outside and not from the operator's reports."""

import json
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.api.values.quantity import parse_bytes
from stateward.kube.objects.metadata import Key
from stateward.planning.model.observation import Pool
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.cluster.budgets import ready
from stateward.simulation.properties.pool_sizes import POOL_SCALES, not_followed, with_sizes
from stateward.simulation.world.world import NAME, World

SETS, PODS, CLAIMS = "apps/statefulsets", "/pods", "/persistentvolumeclaims"

JudgeProcess = Callable[[Stored, Stored], Iterator[str]]
"""Yields the differences of a member's process (its StatefulSet, its pod)."""


def unmet(world: World, name: str = NAME) -> list[str]:
    """Return all differences from the desired state, in words; empty if it is reached."""
    resource = world.resource(name)
    if resource is None:
        return ["there is no cluster resource"]
    cluster: SearchCluster = resource.view(world.product.kind.resource.view)

    def process(member: Stored, pod: Stored) -> Iterator[str]:
        return _process(world, member, pod, cluster.spec.version)

    sizes = {pool["name"]: pool["replicas"] for pool in with_sizes(resource.doc)["pools"]}
    pools = (replace(pool, replicas=sizes[pool.name]) for pool in world.product.desired(cluster).pools)
    asked = {found.doc["spec"]["pool"]: found.doc["spec"]["replicas"] for found in world.store.all(POOL_SCALES)}
    scaled = not_followed(resource.doc, asked)
    return [*_database(world, name, cluster), *unmet_objects(world, name, pools, process), *scaled]


def unmet_objects(world: World, name: str, pools: Iterable[Pool], process: JudgeProcess | None = None) -> Iterator[str]:
    """Yield the differences of status, members, pods and volumes, for each engine.

    `process` yields the differences of the process in a member's ready pod.
    """
    resource = world.resource(name)
    if resource is not None:
        yield from status_problems(resource)
    by_name = {pool.name: pool for pool in pools}
    members = members_of(world, name)
    for pool in by_name.values():
        count = sum(m.labels.get(names.LABEL_POOL) == pool.name for m in members)
        if count != pool.replicas:
            yield f"pool {pool.name} has {count} members instead of {pool.replicas}"
    for member in members:
        pool = by_name.get(member.labels.get(names.LABEL_POOL, ""))
        if pool is None:
            yield f"{member.key.name} belongs to no pool"
        else:
            yield from _member(world, member, pool, process)
    yield from left_behind(world, name, {member.key.name for member in members})


def members_of(world: World, name: str) -> list[Stored]:
    """Return the StatefulSets of a cluster's members."""
    return [found for found in world.store.all(SETS) if found.labels.get(names.LABEL_CLUSTER) == name]


def left_behind(world: World, name: str, members: set[str]) -> Iterator[str]:
    """Yield the Secrets of removed members, which the operator should have deleted."""
    for secret in world.store.all("/secrets"):
        member = secret.labels.get(names.LABEL_MEMBER, "")
        if secret.labels.get(names.LABEL_CLUSTER) == name and member and member not in members:
            yield f"Secret {secret.key.name} is left behind"


def status_problems(resource: Stored) -> Iterator[str]:
    """Yield the incorrect parts of the status."""
    status = part(resource.doc, "status")
    if status.get("observedGeneration") != resource.meta["generation"]:
        yield "the status is of an older generation"
    state = {c["type"]: c["status"] for c in items(resource.doc, "status", "conditions")}
    if state.get("Ready") != "True":
        waits = "; ".join(wait["message"] for wait in items(resource.doc, "status", "waiting"))
        yield f"the status is not Ready: {status.get('activity', '')} {waits}"


def _member(world: World, member: Stored, pool: Pool, process: JudgeProcess | None) -> Iterator[str]:
    name = member.key.name
    pod = world.store.get(PODS, Key(member.key.namespace, names.pod(name)))
    mine = pod is not None and any(o["uid"] == member.uid for o in items(pod.doc, "metadata", "ownerReferences"))
    if pod is None or not mine or not ready(pod) or pod.terminating:
        yield f"{name} has no pod that is ready"
        return
    annotations = part(pod.doc, "metadata", "annotations")
    if annotations.get(names.ANNOTATION_PHASE) or names.ANNOTATION_RESTART_STARTED in annotations:
        yield f"the restart of {name} has not ended"
    made_from = json.loads(annotations.get(names.ANNOTATION_INPUTS, "{}"))
    if made_from != dict(pool.inputs):
        differing = sorted(k for k in {*made_from, *pool.inputs} if made_from.get(k) != pool.inputs.get(k))
        yield f"{name} was made from other inputs: {', '.join(differing)}"
    if process is not None:
        yield from process(member, pod)
    yield from claim_problems(world, member, pool)


def _process(world: World, member: Stored, pod: Stored, version: str) -> Iterator[str]:
    name = member.key.name
    process = world.databases.nodes.get(pod.uid)
    if process is None or process.version != version:
        yield f"{name} does not run {version}"
        return
    secret = world.store.get("/secrets", member.key)
    if process.files != (part(secret.doc, "data") if secret is not None else {}):
        yield f"{name} runs with another configuration than its Secret has"


def claim_problems(world: World, member: Stored, pool: Pool) -> Iterator[str]:
    """Yield the differences of a member's volume."""
    claim = world.store.get(CLAIMS, Key(member.key.namespace, names.claim(member.key.name)))
    if pool.ephemeral:
        return
    if claim is None:
        yield f"{member.key.name} has no claim"
        return
    size = parse_bytes(str(part(claim.doc, "status", "capacity").get("storage", "0")))
    if size < pool.volume_size:
        yield f"the volume of {member.key.name} has {size} bytes instead of {pool.volume_size}"
    if pool.storage_class is not None and part(claim.doc, "spec").get("storageClassName") != pool.storage_class:
        yield f"the volume of {member.key.name} is of another class"


def _database(world: World, name: str, cluster: SearchCluster) -> Iterator[str]:
    database = world.database(name)
    if database is None:
        yield "no database was formed"
        return
    wanted = {member.key.name for member in members_of(world, name)}
    there = {node.name for node in database.nodes.values() if node.reachable}
    if there != wanted:
        yield f"in the database are {sorted(there)} instead of {sorted(wanted)}"
    if database.health != "green" and _possible(world, cluster):
        yield f"the database is {database.health}"
    settings = {**database.settings.persistent, **database.settings.transient}
    left = {key for key in settings if "stateward" in key or key.startswith("cluster.routing")}
    if left:
        yield f"settings were left behind: {', '.join(sorted(left))}"
    if database.shutdowns:
        yield f"records of node shutdowns are left: {', '.join(why for _, why in database.shutdowns.values())}"
    if database.exclusions:
        yield f"votes are still excluded: {', '.join(sorted(database.exclusions))}"
    if not database.leader:
        yield "no manager is elected"


def _possible(world: World, cluster: SearchCluster) -> bool:
    pools = world.product.desired(cluster).pools
    return sum(pool.replicas for pool in pools if pool.data) > 1


def snapshot(world: World, name: str = NAME) -> dict[str, Json]:
    """Return all objects of a cluster, without fields that differ between equal results."""
    found: dict[str, Json] = {}
    kinds = (SETS, CLAIMS, "/secrets", "/configmaps", "/services", "policy/poddisruptionbudgets")
    for kind in kinds:
        for stored in world.store.all(kind):
            if stored.labels.get(names.LABEL_CLUSTER) == name:
                found[f"{kind} {stored.key.name}"] = _plain(stored.doc)
    return found


def _plain(doc: Doc) -> Json:
    meta = {n: doc["metadata"].get(n) for n in ("labels", "annotations", "finalizers")}
    body = {n: v for n, v in doc.items() if n not in {"metadata", "status"}}
    if doc["metadata"]["name"].endswith("-seeds"):
        body = {}  # Addresses and identities differ.
    text = msgspec.json.encode({"metadata": meta, **body}, order="deterministic").decode()
    # The mark of a bootstrap candidate has no meaning after the bootstrap.
    waits = '{"name":"STATEWARD_BOOTSTRAP_CANDIDATE","value":"true"},'
    note = f'"{names.ANNOTATION_BOOTSTRAP_CANDIDATE}":"true",'
    return json.loads(text.replace(waits, "").replace(note, "").replace(f'"volumeName":"{_volume(doc)}"', '"v":""'))


def _volume(doc: Doc) -> str:
    return str(part(doc, "spec").get("volumeName", ""))
