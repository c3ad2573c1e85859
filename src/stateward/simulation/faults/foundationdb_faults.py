"""Faults of FoundationDB only: zones in maintenance, and full disks."""

from stateward.simulation.faults.targets import FaultTargets
from stateward.simulation.foundationdb.ensemble import Ensemble

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


def _fill(ensemble: "Ensemble", free: int) -> None:
    for worker in ensemble.processes.values():
        worker.disk_free = free


def _database(targets: FaultTargets) -> "Ensemble | None":
    found = next(iter(targets.world.foundationdb.databases.values()), None)
    made = found is not None and found.cluster is not None and found.cluster.state.configuration
    return found if made else None
