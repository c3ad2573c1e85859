"""How members of a cluster fail, for the tests of all engines: each way breaks something real, and puts it back."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress

from sandbox import Sandbox
from stateward.api.cluster import Cluster
from stateward.kube import resources as kinds
from stateward.kube.client import PatchKind
from stateward.kube.errors import NotFound
from stateward.kube.metadata import Key
from tests.e2e.clusters import Clusters
from tests.e2e.operators import kubectl

FINALIZER = "tests.stateward.dev/hold"


def phase(cluster: Cluster, member: str) -> str:
    """Return how far a member is on its way out; empty when it is on none."""
    return next((entry.phase for entry in cluster.status.pending_removals if entry.name == member), "")


def ready(cluster: Cluster) -> set[str]:
    return {m.name for m in cluster.status.member_states if m.state == "Ready"}


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
    """Keep the member's pod from being gone when it has ended, as a node that nobody hears of does."""
    key = Key(clusters.namespace, f"{member}-0")
    await clusters.api.patch(kinds.PODS, key, {"metadata": {"finalizers": [FINALIZER]}}, kind=PatchKind.MERGE)
    try:
        yield
    finally:
        with suppress(NotFound):
            await clusters.api.patch(kinds.PODS, key, {"metadata": {"finalizers": None}}, kind=PatchKind.MERGE)
