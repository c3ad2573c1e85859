"""Faults of nodes: power, network, drain, taint, cordon, capacity and disks."""

from stateward.simulation.faults.targets import FaultTargets


def node_power(targets: FaultTargets) -> None:
    """Power a node off for a while."""
    _lose(targets, [targets.rng.choice(targets.world.nodes.names)], power=True)


def node_cut_off(targets: FaultTargets) -> None:
    """Cut a node off from the API server for a while; half of the time also from the other nodes."""
    name = targets.rng.choice(targets.world.nodes.names)
    if not targets.world.kubelets.cut_off and targets.rng.random() < 0.5:
        targets.world.isolate(name, on=True)
    _lose(targets, [name], power=False)


def zone_lost(targets: FaultTargets) -> None:
    """Power all nodes of a zone off for a while."""
    nodes = targets.world.nodes
    zone = nodes.zone(targets.rng.choice(nodes.names))
    _lose(targets, [name for name in nodes.names if nodes.zone(name) == zone], power=True)


def _lose(targets: FaultTargets, names: list[str], *, power: bool) -> None:
    world = targets.world
    if world.kubelets.cut_off:
        return
    for name in names:
        world.nodes.lose(name, power=power)

    def restore() -> None:
        for name in names:
            world.nodes.restore(name)
            if name in world.databases.isolated:
                world.isolate(name, on=False)

    targets.reverts.append(restore)
    world.context.soon(20.0, 1200.0, restore)


def drain(targets: FaultTargets) -> None:
    """Drain a node, and uncordon it later."""
    nodes = targets.world.nodes
    if nodes.draining:
        return
    name = targets.rng.choice(nodes.names)
    nodes.drain(name)
    targets.reverts.append(lambda: nodes.undrain(name))
    targets.world.context.soon(60.0, 900.0, nodes.undrain, name)


def taint(targets: FaultTargets) -> None:
    """Taint a node with NoExecute, and remove the taint later."""
    nodes = targets.world.nodes
    name = targets.rng.choice(nodes.names)
    nodes.taint(name, on=True)

    def untaint() -> None:
        nodes.taint(name, on=False)

    targets.reverts.append(untaint)
    targets.world.context.soon(60.0, 600.0, untaint)


def cordoned(targets: FaultTargets) -> None:
    """Cordon all nodes for a while, as for maintenance."""
    nodes = targets.world.nodes
    for name in nodes.names:
        nodes.cordon(name, on=True)

    def again() -> None:
        for name in set(nodes.names) - nodes.draining:
            nodes.cordon(name, on=False)

    targets.reverts.append(again)
    targets.world.context.soon(120.0, 1200.0, again)


def nodes_full(targets: FaultTargets) -> None:
    """Fill the nodes with other pods for a while."""
    scheduler, before = targets.world.scheduler, targets.world.layout.capacity

    def leave() -> None:
        scheduler.capacity = before

    scheduler.capacity = targets.rng.choice((0, 1, 2))
    targets.reverts.append(leave)
    targets.world.context.soon(120.0, 1200.0, leave)


def disk_hangs(targets: FaultTargets) -> None:
    """Make the disk of a node unresponsive for a while: its processes do not react to signals."""
    world, node = targets.world, targets.rng.choice(targets.world.nodes.names)
    world.databases.hanging.add(node)
    world.foundationdb.hanging.add(node)
    world.context.trace(f"the disk of node {node} is unresponsive")

    def answers() -> None:
        world.databases.hanging.discard(node)
        world.foundationdb.hanging.discard(node)

    targets.reverts.append(answers)
    world.context.soon(300.0, 1800.0, answers)
