"""Faults that strike at an instant."""

from typing import TYPE_CHECKING

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.simulation.cluster.mounts import Run
from stateward.simulation.world.world import NAMESPACE

if TYPE_CHECKING:
    from stateward.simulation.faults.faults import FaultTargets


def kill_operator(targets: "FaultTargets") -> None:
    """Kill a process of the operator."""
    targets.process.kill()


def freeze_watches(targets: "FaultTargets") -> None:
    """Keep everything from arriving on a process's watches for a while."""
    targets.process.freeze(targets.chance.uniform(5.0, 140.0))


def compact(targets: "FaultTargets") -> None:
    """Forget history: watches that are taken up again find that their place is gone."""
    for kind in ("/pods", "apps/statefulsets", targets.world.clusters):
        targets.world.store.log(kind).compact(targets.chance.randint(0, 20))


def node_power(targets: "FaultTargets") -> None:
    """Switch a node off for a while."""
    _lose(targets, [targets.chance.choice(targets.world.nodes.names)], power=True)


def node_cut_off(targets: "FaultTargets") -> None:
    """Cut a node off from the API server for a while; half of the time also from the other nodes."""
    name = targets.chance.choice(targets.world.nodes.names)
    if not targets.world.kubelets.cut_off and targets.chance.random() < 0.5:
        targets.world.isolate(name, on=True)
    _lose(targets, [name], power=False)


def zone_lost(targets: "FaultTargets") -> None:
    """Switch all nodes of a zone off for a while."""
    nodes = targets.world.nodes
    zone = nodes.zone(targets.chance.choice(nodes.names))
    _lose(targets, [name for name in nodes.names if nodes.zone(name) == zone], power=True)


def _lose(targets: "FaultTargets", names: list[str], *, power: bool) -> None:
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

    targets.undo.append(restore)
    world.ground.soon(20.0, 1200.0, restore)


def drain(targets: "FaultTargets") -> None:
    """Drain a node and give it back later."""
    nodes = targets.world.nodes
    if nodes.draining:
        return
    name = targets.chance.choice(nodes.names)
    nodes.drain(name)
    targets.undo.append(lambda: nodes.undrain(name))
    targets.world.ground.soon(60.0, 900.0, nodes.undrain, name)


def taint(targets: "FaultTargets") -> None:
    """Taint a node so that its pods go at once, and take that back later."""
    nodes = targets.world.nodes
    name = targets.chance.choice(nodes.names)
    nodes.taint(name, on=True)

    def untaint() -> None:
        nodes.taint(name, on=False)

    targets.undo.append(untaint)
    targets.world.ground.soon(60.0, 600.0, untaint)


def _some_run(targets: "FaultTargets") -> Run | None:
    runs = [run for run in targets.world.kubelets.runs.values() if run.process is not None and not run.stopping]
    return targets.chance.choice(runs) if runs else None


def crash(targets: "FaultTargets") -> None:
    """Let a database process die."""
    run = _some_run(targets)
    if run is not None:
        targets.world.ground.tell(f"the process of {run.pod.name} dies")
        targets.world.kubelets.crash(run, 137, "OOMKilled")


def evicted(targets: "FaultTargets") -> None:
    """Let a kubelet evict a pod."""
    run = _some_run(targets)
    pod = targets.world.store.get("/pods", run.pod) if run is not None else None
    if pod is not None and run is not None and pod.uid == run.uid:
        targets.world.nodes.evict_failed(pod)


def pod_deleted(targets: "FaultTargets") -> None:
    """Delete a pod, as users do."""
    run = _some_run(targets)
    pod = targets.world.store.get("/pods", run.pod) if run is not None else None
    if pod is not None and not pod.terminating:
        targets.world.ground.tell(f"somebody deletes pod {pod.key.name}")
        targets.world.server.delete("/pods", pod.key, DeleteOptions(Preconditions(pod.uid)))


def quota(targets: "FaultTargets") -> None:
    """Allow no more pods or claims for a while."""
    admission, store = targets.world.server.admission, targets.world.store
    kind = targets.chance.choice(("/pods", "/persistentvolumeclaims", "apps/statefulsets"))
    targets.world.ground.tell(f"quota allows no more {kind}")
    admission.quota[NAMESPACE, kind] = len(store.all(kind)) - targets.chance.randint(0, 1)
    targets.undo.append(admission.quota.clear)
    targets.world.ground.soon(60.0, 600.0, admission.quota.clear)


def cordoned(targets: "FaultTargets") -> None:
    """Cordon all nodes for a while, as for maintenance."""
    nodes = targets.world.nodes
    for name in nodes.names:
        nodes.cordon(name, on=True)

    def again() -> None:
        for name in set(nodes.names) - nodes.draining:
            nodes.cordon(name, on=False)

    targets.undo.append(again)
    targets.world.ground.soon(120.0, 1200.0, again)


def recreated(targets: "FaultTargets") -> None:
    """Delete the cluster resource and create it again, at once or later."""
    targets.user.delete()
    targets.undo.append(targets.user.create)
    targets.world.ground.soon(0.0, 120.0, targets.user.create)


def new_index(targets: "FaultTargets") -> None:
    """Create an index, of one to three copies; its primary may land on the only node that is upgraded."""
    database = targets.world.database()
    if database is None or not database.leader or len(database.shards) >= 14 or targets.empty:
        return
    spread = targets.chance.choice(("false", "false", "false", "0-1", "0-all"))
    replicas = targets.chance.choice((0, 1, 1, 1, 1, 2)) if spread == "false" else 1
    name = f"index-{len(database.shards)}"
    size = targets.chance.choice((5, 50, 500)) * 2**20
    database.create_index(name, replicas, size, targets.chance.uniform(0.1, 20.0), spread=spread)
    if replicas == 2:
        # At the end the spec must not ask for more copies than there are members.
        targets.undo.append(lambda: database.follow(name, "0-2"))


def edit(targets: "FaultTargets") -> None:
    """Let the user edit the cluster resource."""
    targets.user.act()
