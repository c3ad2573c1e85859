"""Faults that strike at an instant."""

from typing import TYPE_CHECKING

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.simulation.cluster.mounts import Run
from stateward.simulation.world.world import NAMESPACE

if TYPE_CHECKING:
    from stateward.simulation.faults.faults import Stage


def kill_operator(stage: "Stage") -> None:
    """Kill a process of the operator."""
    stage.process.kill()


def freeze_watches(stage: "Stage") -> None:
    """Keep everything from arriving on a process's watches for a while."""
    stage.process.freeze(stage.chance.uniform(5.0, 140.0))


def compact(stage: "Stage") -> None:
    """Forget history: watches that are taken up again find that their place is gone."""
    for kind in ("/pods", "apps/statefulsets", stage.world.clusters):
        stage.world.store.log(kind).compact(stage.chance.randint(0, 20))


def node_power(stage: "Stage") -> None:
    """Switch a node off for a while."""
    _lose(stage, [stage.chance.choice(stage.world.nodes.names)], power=True)


def node_cut_off(stage: "Stage") -> None:
    """Cut a node off from the API server for a while; half of the time also from the other nodes."""
    name = stage.chance.choice(stage.world.nodes.names)
    if not stage.world.kubelets.cut_off and stage.chance.random() < 0.5:
        stage.world.isolate(name, on=True)
    _lose(stage, [name], power=False)


def zone_lost(stage: "Stage") -> None:
    """Switch all nodes of a zone off for a while."""
    nodes = stage.world.nodes
    zone = nodes.zone(stage.chance.choice(nodes.names))
    _lose(stage, [name for name in nodes.names if nodes.zone(name) == zone], power=True)


def _lose(stage: "Stage", names: list[str], *, power: bool) -> None:
    world = stage.world
    if world.kubelets.cut_off:
        return
    for name in names:
        world.nodes.lose(name, power=power)

    def restore() -> None:
        for name in names:
            world.nodes.restore(name)
            if name in world.databases.isolated:
                world.isolate(name, on=False)

    stage.undo.append(restore)
    world.ground.soon(20.0, 1200.0, restore)


def drain(stage: "Stage") -> None:
    """Drain a node and give it back later."""
    nodes = stage.world.nodes
    if nodes.draining:
        return
    name = stage.chance.choice(nodes.names)
    nodes.drain(name)
    stage.undo.append(lambda: nodes.undrain(name))
    stage.world.ground.soon(60.0, 900.0, nodes.undrain, name)


def taint(stage: "Stage") -> None:
    """Taint a node so that its pods go at once, and take that back later."""
    nodes = stage.world.nodes
    name = stage.chance.choice(nodes.names)
    nodes.taint(name, on=True)

    def untaint() -> None:
        nodes.taint(name, on=False)

    stage.undo.append(untaint)
    stage.world.ground.soon(60.0, 600.0, untaint)


def _some_run(stage: "Stage") -> Run | None:
    runs = [run for run in stage.world.kubelets.runs.values() if run.process is not None and not run.stopping]
    return stage.chance.choice(runs) if runs else None


def crash(stage: "Stage") -> None:
    """Let a database process die."""
    run = _some_run(stage)
    if run is not None:
        stage.world.ground.tell(f"the process of {run.pod.name} dies")
        stage.world.kubelets.crash(run, 137, "OOMKilled")


def evicted(stage: "Stage") -> None:
    """Let a kubelet evict a pod."""
    run = _some_run(stage)
    pod = stage.world.store.get("/pods", run.pod) if run is not None else None
    if pod is not None and run is not None and pod.uid == run.uid:
        stage.world.nodes.evict_failed(pod)


def pod_deleted(stage: "Stage") -> None:
    """Delete a pod, as users do."""
    run = _some_run(stage)
    pod = stage.world.store.get("/pods", run.pod) if run is not None else None
    if pod is not None and not pod.terminating:
        stage.world.ground.tell(f"somebody deletes pod {pod.key.name}")
        stage.world.server.delete("/pods", pod.key, DeleteOptions(Preconditions(pod.uid)))


def quota(stage: "Stage") -> None:
    """Allow no more pods or claims for a while."""
    admission, store = stage.world.server.admission, stage.world.store
    kind = stage.chance.choice(("/pods", "/persistentvolumeclaims", "apps/statefulsets"))
    stage.world.ground.tell(f"quota allows no more {kind}")
    admission.quota[NAMESPACE, kind] = len(store.all(kind)) - stage.chance.randint(0, 1)
    stage.undo.append(admission.quota.clear)
    stage.world.ground.soon(60.0, 600.0, admission.quota.clear)


def cordoned(stage: "Stage") -> None:
    """Cordon all nodes for a while, as for maintenance."""
    nodes = stage.world.nodes
    for name in nodes.names:
        nodes.cordon(name, on=True)

    def again() -> None:
        for name in set(nodes.names) - nodes.draining:
            nodes.cordon(name, on=False)

    stage.undo.append(again)
    stage.world.ground.soon(120.0, 1200.0, again)


def recreated(stage: "Stage") -> None:
    """Delete the cluster resource and create it again, at once or later."""
    stage.user.delete()
    stage.undo.append(stage.user.create)
    stage.world.ground.soon(0.0, 120.0, stage.user.create)


def new_index(stage: "Stage") -> None:
    """Create an index, of one to three copies; its primary may land on the only node that is upgraded."""
    database = stage.world.database()
    if database is None or not database.leader or len(database.shards) >= 14 or stage.empty:
        return
    spread = stage.chance.choice(("false", "false", "false", "0-1", "0-all"))
    replicas = stage.chance.choice((0, 1, 1, 1, 1, 2)) if spread == "false" else 1
    name = f"index-{len(database.shards)}"
    size = stage.chance.choice((5, 50, 500)) * 2**20
    database.create_index(name, replicas, size, stage.chance.uniform(0.1, 20.0), spread=spread)
    if replicas == 2:
        # At the end the spec must not ask for more copies than there are members.
        stage.undo.append(lambda: database.follow(name, "0-2"))


def edit(stage: "Stage") -> None:
    """Let the user edit the cluster resource."""
    stage.user.act()
