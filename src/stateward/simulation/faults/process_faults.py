"""Faults of processes and pods: the operator, its watches, database processes, and the pods of members."""

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.simulation.cluster.mounts import Run
from stateward.simulation.faults.targets import FaultTargets

PODS = "/pods"
PAUSE = (3.0, 170.0)
"""Seconds for which a process is paused."""


def kill_operator(targets: FaultTargets) -> None:
    """Kill a process of the operator."""
    targets.process.kill()


def freeze_watches(targets: FaultTargets) -> None:
    """Hold back all watch events of a process for a while."""
    targets.process.freeze(targets.rng.uniform(5.0, 140.0))


def compact(targets: FaultTargets) -> None:
    """Compact the history, so that resumed watches get 410 Gone."""
    for kind in ("/pods", "apps/statefulsets", targets.world.clusters):
        targets.world.store.log(kind).compact(targets.rng.randint(0, 20))


def crash(targets: FaultTargets) -> None:
    """Kill a database process."""
    run = _some_run(targets)
    if run is not None:
        targets.world.context.trace(f"the process of {run.pod.name} is killed")
        targets.world.kubelets.crash(run, 137, "OOMKilled")


def paused(targets: FaultTargets) -> None:
    """Pause a database process for less time than its liveness probe tolerates."""
    databases = targets.world.databases
    nodes = [node for node in databases.nodes.values() if node.reachable]
    if not nodes:
        return
    node = targets.rng.choice(nodes)
    targets.world.context.trace(f"the process of {node.name} is paused")
    databases.pause(node, on=True)

    def goes_on() -> None:
        if node.paused:
            targets.world.context.trace(f"the process of {node.name} goes on")
            databases.pause(node, on=False)

    targets.reverts.append(goes_on)
    targets.world.context.soon(*PAUSE, goes_on)


def evicted(targets: FaultTargets) -> None:
    """Evict a pod as its kubelet does."""
    run = _some_run(targets)
    pod = targets.world.store.get("/pods", run.pod) if run is not None else None
    if pod is not None and run is not None and pod.uid == run.uid:
        targets.world.nodes.evict_failed(pod)


def pod_deleted(targets: FaultTargets) -> None:
    """Delete a pod, as users do."""
    run = _some_run(targets)
    pod = targets.world.store.get("/pods", run.pod) if run is not None else None
    if pod is not None and not pod.terminating:
        targets.world.context.trace(f"a user deletes pod {pod.key.name}")
        targets.world.server.delete("/pods", pod.key, DeleteOptions(Preconditions(pod.uid)))


def phase_removed(targets: FaultTargets) -> None:
    """Remove the annotation that records a restart in place from a pod."""
    pods = (pod for pod in targets.world.store.all(PODS) if not pod.terminating)
    going = [pod for pod in pods if pod.meta.get("annotations", {}).get(names.ANNOTATION_PHASE)]
    if not going:
        return
    pod = targets.rng.choice(going)
    kept = {name: value for name, value in pod.meta["annotations"].items() if name != names.ANNOTATION_PHASE}
    meta = {**pod.meta, "annotations": kept}
    targets.world.context.trace(f"a user removes the restart annotation from pod {pod.key.name}")
    targets.world.server.update(PODS, pod.key, {**pod.doc, "metadata": meta}, manager="kubectl")


def _some_run(targets: FaultTargets) -> Run | None:
    runs = [run for run in targets.world.kubelets.runs.values() if run.process is not None and not run.stopping]
    return targets.rng.choice(runs) if runs else None
