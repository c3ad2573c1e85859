"""Compares a world with its FoundationDB cluster resource, from outside and not from the operator's reports."""

from collections.abc import Iterator

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.engines.foundationdb.spec.desired import desired
from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.foundationdb.state import FACTORS
from stateward.simulation.properties.goal import members_of, unmet_objects
from stateward.simulation.world.world import NAME, World

COORDINATORS = {"single": 1, "double": 3, "triple": 5}


def unmet(world: World) -> list[str]:
    """Return all differences from the desired state, in words; empty if it is reached."""
    resource = world.resource()
    if resource is None:
        return ["there is no cluster resource"]
    cluster: FoundationDBCluster = resource.view(FoundationDBCluster)
    members = {member.key.name for member in members_of(world, NAME)}
    return [*_database(world, cluster, members), *unmet_objects(world, NAME, desired(cluster).pools)]


def _database(world: World, cluster: FoundationDBCluster, members: set[str]) -> Iterator[str]:
    ensemble = next(iter(world.foundationdb.databases.values()), None)
    if ensemble is None or ensemble.cluster is None:
        yield "no database was created"
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
    # After a change to a lower redundancy there may be more.
    if len(coordinators) < COORDINATORS[cluster.spec.redundancy] or not coordinators <= set(map(names.pod, members)):
        yield f"coordinators are {', '.join(sorted(coordinators))}"


def _processes(ensemble: Ensemble, version: str, members: set[str]) -> Iterator[str]:
    running = [w for address, w in ensemble.processes.items() if address not in ensemble.astray]
    there = {worker.locality["instance_id"] for worker in running}
    if there != members:
        yield f"in the database are {sorted(there)} instead of {sorted(members)}"
    others = {worker.version for worker in running} - {version}
    if others:
        yield f"processes of {', '.join(sorted(others))} run instead of {version}"
