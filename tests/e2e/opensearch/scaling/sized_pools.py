"""A cluster whose pool `hot` changes its size between limits, and what tests of it set and look at."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.scaling.limits import ScalingStatus
from tests.e2e.beside import Server
from tests.e2e.clusters import Clusters, Condition, pool, settled
from tests.e2e.operators import kubectl
from tests.e2e.witness import Promises, Writer

PATIENCE = {"growAfter": "20s", "shrinkAfter": "20s"}
VALUE = "/tmp/value"  # noqa: S108 - in the pod of a test's server, which has nothing else


@dataclass(frozen=True)
class Load:
    """A metric that an autoscaler follows: a number in a file of the server that answers with it."""

    server: Server

    def becomes(self, value: int) -> None:
        """Set the value."""
        self.server.run("sh", "-c", f"echo {value} > {VALUE}")

    def fails(self) -> None:
        """Answer no longer, until there is a value again."""
        self.server.run("rm", VALUE)


def pools(**scaling: Any) -> list[dict[str, Any]]:
    """Return the pools of a cluster in which `hot` has two or three members."""
    limits = {"min": 2, "max": 3, **PATIENCE, **scaling}
    return [pool("managers", 1, "cluster_manager"), pool("hot", 2, "data", "ingest", scaling=limits)]


def size(cluster: Cluster) -> ScalingStatus:
    found = next((p.scaling for p in cluster.status.pools if p.name == "hot"), None)
    assert found is not None
    return found


def has(members: int, reason: str = "") -> Condition:
    """Return the condition that the pool has so many members, for this reason, and all of them serve."""

    def holds(cluster: Cluster) -> bool:
        ready = next((p.ready for p in cluster.status.pools if p.name == "hot"), 0)
        reached = settled(cluster) and size(cluster).replicas == ready == members
        return reached and size(cluster).reason.startswith(reason)

    return holds


async def give_pool_scale(sandbox: Sandbox, namespace: str, cluster: str) -> None:
    """Make the PoolScale `hot`, which asks for two members, and wait until the pool follows it."""
    spec = {"cluster": {"kind": "OpenSearchCluster", "name": cluster}, "pool": "hot", "replicas": 2}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "PoolScale"}
    made = {**head, "metadata": {"name": "hot", "namespace": namespace}, "spec": spec}
    kubectl(sandbox, "apply", "-f", "-", stdin=json.dumps(made))
    await until_met(sandbox, namespace, "poolscale/hot", "condition=Ready")


async def until_met(sandbox: Sandbox, namespace: str, subject: str, condition: str) -> None:
    """Wait for a condition of an object, in the words of `kubectl wait`, for two minutes at most."""
    words = ("-n", namespace, "wait", subject, f"--for={condition}", "--timeout=120s")
    await asyncio.to_thread(kubectl, sandbox, *words)


@asynccontextmanager
async def nothing_lost(clusters: Clusters, name: str) -> AsyncGenerator[None]:
    """Write documents during the block, and require that all are there after it, and that each promise was kept."""
    database = clusters.database(name)
    await database.create_index("docs", shards=2)
    async with Writer(database, "docs") as writer, Promises(clusters, name) as promises:
        yield
    assert promises.broken == []
    assert "red" not in promises.seen_health
    assert await writer.missing() == set()
    assert await database.left_behind() == {}
