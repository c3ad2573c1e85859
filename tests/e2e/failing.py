"""Faults of members for the tests of all engines: each breaks something real, and repairs it."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from tests.e2e.clusters import Clusters, settled
from tests.e2e.operators import kubectl

FINALIZER = "tests.stateward.dev/hold"


def phase(cluster: Cluster, member: str) -> str:
    """Return how far a member is on its way out; empty when it is on none."""
    return next((entry.phase for entry in cluster.status.pending_removals if entry.name == member), "")


def ready(cluster: Cluster) -> set[str]:
    return {m.name for m in cluster.status.member_states if m.state == "Ready"}


def gone(cluster: Cluster, member: str) -> bool:
    """Return whether nothing is left of a member but its volume, and nothing is left to do."""
    return settled(cluster) and phase(cluster, member) == "VolumeKept"


@contextmanager
def away(sandbox: Sandbox, machine: str) -> Generator[None]:
    """Stop a machine with everything that runs on it, and start it again."""
    sandbox.node_stop(machine, with_containers=True)
    try:
        yield
    finally:
        sandbox.node_start(machine)
        sandbox.wait_node(machine, ready=True)


@contextmanager
def no_room(sandbox: Sandbox, namespace: str, pods: int) -> Generator[None]:
    """Let the namespace have so many pods and no more."""
    kubectl(sandbox, "-n", namespace, "create", "quota", "full", f"--hard=pods={pods}")
    try:
        yield
    finally:
        kubectl(sandbox, "-n", namespace, "delete", "quota", "full")


@asynccontextmanager
async def held(clusters: Clusters, member: str) -> AsyncGenerator[None]:
    """Keep the member's terminated pod, as on an unreachable node."""
    key = Key(clusters.namespace, f"{member}-0")
    await clusters.api.patch(kinds.PODS, key, {"metadata": {"finalizers": [FINALIZER]}}, kind=PatchKind.MERGE)
    try:
        yield
    finally:
        with suppress(NotFound):
            await clusters.api.patch(kinds.PODS, key, {"metadata": {"finalizers": None}}, kind=PatchKind.MERGE)


async def break_volume(sandbox: Sandbox, clusters: Clusters, member: str) -> None:
    """Destroy the member's volume, and delete its pod: the next pod cannot mount it."""
    await remove_volume(sandbox, clusters, member)
    await lose_pod(clusters, member)


async def remove_volume(sandbox: Sandbox, clusters: Clusters, member: str) -> None:
    """Move the directory of the member's volume away."""
    claim = await clusters.api.get(kinds.CLAIMS, Key(clusters.namespace, f"data-{member}"))
    (directory,) = sandbox.layout.root.glob(f"nodes/*/lib/volumes/{claim.spec.volume_name}")
    directory.rename(directory.with_name(f"{directory.name}.broken"))


async def lose_pod(clusters: Clusters, member: str) -> None:
    """Delete the member's pod without grace, if it has one."""
    key = Key(clusters.namespace, f"{member}-0")
    with suppress(NotFound):
        pod = await clusters.api.get(kinds.PODS, key)
        await clusters.api.delete(kinds.PODS, key, DeleteOptions(Preconditions(pod.metadata.uid), grace_seconds=0))
