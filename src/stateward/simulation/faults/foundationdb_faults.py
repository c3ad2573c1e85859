"""Faults of FoundationDB only: zones in maintenance, data distribution off, full disks, and deleted objects."""

from collections.abc import Callable

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.faults.targets import FaultTargets
from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.world.world import NAME

FREE, FULL = 80 * 2**30, 4 * 2**30
"""Free bytes of a disk of 100 GiB: normally, and when other data fills it."""


def maintenance(targets: FaultTargets) -> None:
    """Put a zone into maintenance, and power its node off in half of the cases."""
    world, ensemble = targets.world, _database(targets)
    if ensemble is None or ensemble.cluster is None or ensemble.cluster.state.maintenance or world.kubelets.cut_off:
        return
    cluster, zone = ensemble.cluster, targets.rng.choice(world.nodes.names)
    seconds = targets.rng.uniform(120.0, 1200.0)
    cluster.ask({"op": "maintenance", "zone": zone, "seconds": seconds}, ensemble.clock())
    world.context.trace(f"a user puts zone {zone} into maintenance")
    off = targets.rng.random() < 0.5
    if off:
        world.nodes.lose(zone, power=True)

    def end() -> None:
        if off:
            world.nodes.restore(zone)
        ensemble.advance()
        if cluster.state.maintenance == zone:
            cluster.ask({"op": "maintenance", "zone": "", "seconds": 0}, ensemble.clock())

    targets.reverts.append(end)
    world.context.later(seconds, end)


def distribution_off(targets: FaultTargets) -> None:
    """Turn data distribution off for a while, or let it ignore failed storage servers."""
    ensemble, rng = _database(targets), targets.rng
    if ensemble is None or ensemble.cluster is None:
        return
    cluster, change = ensemble.cluster, rng.choice(("on", "failures"))
    cluster.ask({"op": "distribution", change: False}, ensemble.clock())
    targets.world.context.trace(
        "a user turns data distribution off" if change == "on" else "a user lets it ignore failures"
    )

    def end() -> None:
        ensemble.advance()
        cluster.ask({"op": "distribution", change: True}, ensemble.clock())

    targets.reverts.append(end)
    targets.world.context.later(rng.uniform(60.0, 900.0), end)


def disks_full(targets: FaultTargets) -> None:
    """Fill all disks for a while, so that the database refuses to move data."""
    ensemble = _database(targets)
    if ensemble is None:
        return
    ensemble.advance()
    targets.world.context.trace("the disks are almost full")
    _fill(ensemble, FULL)

    def emptied() -> None:
        _fill(ensemble, FREE)

    targets.reverts.append(emptied)
    targets.world.context.soon(120.0, 900.0, emptied)


def objects_deleted(targets: FaultTargets) -> None:
    """Delete one or two StatefulSets, Secrets of members, or the Secret of the cluster file, as users do by mistake."""
    world, rng = targets.world, targets.rng
    kind, belongs = rng.choice(DELETABLE)
    mine = [s for s in world.store.all(kind) if s.labels.get(names.LABEL_CLUSTER) == NAME and belongs(s)]
    found = sorted((s for s in mine if not s.terminating), key=lambda stored: stored.key.name)
    for stored in rng.sample(found, min(len(found), rng.choice((1, 1, 2)))):
        world.context.trace(f"a user deletes {kind.rpartition('/')[2]} {stored.key.name}")
        world.server.delete(kind, stored.key, DeleteOptions(Preconditions(stored.uid)))


def members_scaled_to_zero(targets: FaultTargets) -> None:
    """Scale two StatefulSets to zero by hand: of members that leave slowly, as impatient users do, or of any."""
    _scale_to_zero(targets, 0 if targets.rng.random() < 0.3 else 120)


def _scale_to_zero(targets: FaultTargets, patience: int) -> None:
    """Scale two StatefulSets to zero, of leaving members first; look for these a few times before all others."""
    world, rng, ensemble = targets.world, targets.rng, _database(targets)
    kind = "apps/statefulsets"
    mine = [s for s in world.store.all(kind) if s.labels.get(names.LABEL_CLUSTER) == NAME and not s.terminating]
    excluded = ensemble.cluster.state.excluded if ensemble is not None and ensemble.cluster is not None else []
    leaving = [s for s in mine if f"locality_instance_id:{s.key.name}" in excluded and s.doc["spec"]["replicas"]]
    if not leaving and patience:
        targets.reverts.append(world.context.later(2.0, _scale_to_zero, targets, patience - 1).cancel)
        return
    others = sorted((s for s in mine if s not in leaving), key=lambda stored: stored.key.name)
    for stored in [*leaving, *rng.sample(others, min(len(others), 2))][:2]:
        world.context.trace(f"a user scales StatefulSet {stored.key.name} to zero")
        world.server.patch(kind, stored.key, {"spec": {"replicas": 0}}, PatchKind.MERGE)


def _of_member(stored: Stored) -> bool:
    return bool(stored.labels.get(names.LABEL_MEMBER))


def _cluster_file(stored: Stored) -> bool:
    return stored.key.name == f"{NAME}-cluster-file"


DELETABLE: tuple[tuple[str, Callable[[Stored], bool]], ...] = (
    ("apps/statefulsets", _of_member),
    ("/secrets", _of_member),
    ("/secrets", _cluster_file),
)
"""What users delete: its kind, and which objects of the cluster."""


def _fill(ensemble: "Ensemble", free: int) -> None:
    for worker in ensemble.processes.values():
        worker.disk_free = free


def _database(targets: FaultTargets) -> "Ensemble | None":
    found = next(iter(targets.world.foundationdb.databases.values()), None)
    made = found is not None and found.cluster is not None and found.cluster.state.configuration
    return found if made else None
