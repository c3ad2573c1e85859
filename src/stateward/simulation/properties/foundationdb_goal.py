"""Compares a world with its FoundationDB cluster resource, from outside and not from the operator's reports."""

import json
from collections.abc import Iterator

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.engines.foundationdb.spec.desired import desired
from stateward.kube.objects.metadata import Key
from stateward.planning.model.observation import Pool
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.cluster.budgets import ready
from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.foundationdb.state import FACTORS
from stateward.simulation.properties.goal import PODS, SETS, claim_problems, left_behind, status_problems
from stateward.simulation.world.world import NAME, World

COORDINATORS = {"single": 1, "double": 3, "triple": 5}


def unmet(world: World) -> list[str]:
    """Return all differences from the desired state, in words; empty if it is reached."""
    resource = world.resource()
    if resource is None:
        return ["there is no cluster resource"]
    cluster: FoundationDBCluster = resource.view(FoundationDBCluster)
    pools = {pool.name: pool for pool in desired(cluster).pools}
    members = [s for s in world.store.all(SETS) if s.labels.get(names.LABEL_CLUSTER) == NAME]
    found = [*status_problems(resource), *_database(world, cluster, {member.key.name for member in members})]
    for pool in pools.values():
        count = sum(m.labels.get(names.LABEL_POOL) == pool.name for m in members)
        if count != pool.replicas:
            found.append(f"pool {pool.name} has {count} members instead of {pool.replicas}")
    for member in members:
        pool = pools.get(member.labels.get(names.LABEL_POOL, ""))
        found += [f"{member.key.name} belongs to no pool"] if pool is None else _member(world, member, pool)
    return [*found, *left_behind(world, NAME, {member.key.name for member in members})]


def _member(world: World, member: Stored, pool: Pool) -> Iterator[str]:
    name = member.key.name
    pod = world.store.get(PODS, Key(member.key.namespace, names.pod(name)))
    mine = pod is not None and any(o["uid"] == member.uid for o in items(pod.doc, "metadata", "ownerReferences"))
    if pod is None or not mine or not ready(pod) or pod.terminating:
        yield f"{name} has no pod that is ready"
        return
    annotations = part(pod.doc, "metadata", "annotations")
    if annotations.get(names.ANNOTATION_PHASE) or names.ANNOTATION_BEGUN in annotations:
        yield f"the restart of {name} has not ended"
    made_from = json.loads(annotations.get(names.ANNOTATION_INPUTS, "{}"))
    if made_from != dict(pool.inputs):
        differing = sorted(k for k in {*made_from, *pool.inputs} if made_from.get(k) != pool.inputs.get(k))
        yield f"{name} was made from other inputs: {', '.join(differing)}"
    yield from claim_problems(world, member, pool)


def _database(world: World, cluster: FoundationDBCluster, members: set[str]) -> Iterator[str]:
    ensemble = next(iter(world.foundations.databases.values()), None)
    if ensemble is None or ensemble.cluster is None:
        yield "no database was made"
        return
    ensemble.advance()
    state = ensemble.cluster.state
    if not state.configuration or not state.available:
        yield f"the database is not available ({state.recovery.name})"
        return
    yield from _processes(ensemble, cluster.spec.version, members)
    if state.excluded or state.failed:
        yield f"still excluded: {', '.join([*state.excluded, *state.failed])}"
    if state.maintenance:
        yield f"zone {state.maintenance} is in maintenance"
    factor = FACTORS[state.configuration["redundancy_mode"]]
    if any(shard.target or len(shard.holders) < factor for shard in state.shards):
        yield "data is being installed"
    coordinators = {name.partition(".")[0] for name in state.coordinators}
    if len(coordinators) != COORDINATORS[cluster.spec.redundancy] or not coordinators <= set(map(names.pod, members)):
        yield f"coordinators are {', '.join(sorted(coordinators))}"


def _processes(ensemble: Ensemble, version: str, members: set[str]) -> Iterator[str]:
    running = [w for address, w in ensemble.processes.items() if address not in ensemble.astray]
    there = {worker.locality["instance_id"] for worker in running}
    if there != members:
        yield f"in the database are {sorted(there)} instead of {sorted(members)}"
    others = {worker.version for worker in running} - {version}
    if others:
        yield f"processes of {', '.join(sorted(others))} run instead of {version}"
