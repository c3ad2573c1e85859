"""What goes wrong with FoundationDB only: zones that people have in maintenance, and disks that fill."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stateward.simulation.faults.faults import Stage
    from stateward.simulation.foundationdb.ensemble import Ensemble

FREE, FULL = 80 * 2**30, 4 * 2**30
"""Free bytes on a disk of 100 GiB: usually, and when it was filled by others."""


def maintenance(stage: "Stage") -> None:
    """Let the user put a node into maintenance, and half of the time switch it off in between."""
    world, ensemble = stage.world, _database(stage)
    if ensemble is None or ensemble.cluster is None or ensemble.cluster.state.maintenance or world.kubelets.cut_off:
        return
    cluster, zone = ensemble.cluster, stage.chance.choice(world.nodes.names)
    seconds = stage.chance.uniform(120.0, 1200.0)
    cluster.ask({"op": "maintenance", "zone": zone, "seconds": seconds}, ensemble.clock())
    world.ground.tell(f"a person puts zone {zone} into maintenance")
    off = stage.chance.random() < 0.5
    if off:
        world.nodes.lose(zone, power=True)

    def end() -> None:
        if off:
            world.nodes.restore(zone)
        ensemble.advance()
        if cluster.state.maintenance == zone:
            cluster.ask({"op": "maintenance", "zone": "", "seconds": 0}, ensemble.clock())

    stage.undo.append(end)
    world.ground.later(seconds, end)


def disks_full(stage: "Stage") -> None:
    """Fill all disks for a while: the database refuses to move data."""
    ensemble = _database(stage)
    if ensemble is None:
        return
    ensemble.advance()
    stage.world.ground.tell("the disks are almost full")
    _fill(ensemble, FULL)

    def emptied() -> None:
        _fill(ensemble, FREE)

    stage.undo.append(emptied)
    stage.world.ground.soon(120.0, 900.0, emptied)


def _fill(ensemble: "Ensemble", free: int) -> None:
    for worker in ensemble.processes.values():
        worker.disk_free = free


def _database(stage: "Stage") -> "Ensemble | None":
    found = next(iter(stage.world.foundations.databases.values()), None)
    made = found is not None and found.cluster is not None and found.cluster.state.configuration
    return found if made else None
