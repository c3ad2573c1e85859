"""Clusters of real FoundationDB processes, written to and watched all the time."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.e2e.clusters import Clusters, settled
from tests.e2e.foundationdb.database import Fdb, Watch, pools
from tests.e2e.foundationdb.keys import Writer

MEMORY = {"limits": {"memory": "1Gi"}, "requests": {"memory": "128Mi", "cpu": "20m"}}
BORN, CHANGED = 900, 600
"""Seconds: a status of a database that was never created takes 30, and a move of data as long as the database likes."""


async def apply(clusters: Clusters, name: str, version: str, storage: int = 3, **more: Any) -> None:
    """Apply the spec of a cluster of real processes."""
    wanted = [{**pool, "resources": MEMORY} for pool in pools(storage=storage)]
    image = f"docker.io/foundationdb/foundationdb-real:{version}"
    await clusters.apply(name, version=version, image=image, pools=wanted, **more)


@asynccontextmanager
async def written(clusters: Clusters, fdb: Fdb, name: str, version: str, **more: Any) -> AsyncGenerator[Writer]:
    """Create a cluster, and write and watch while the block runs; every acknowledged key is there in the end."""
    await apply(clusters, name, version, **more)
    # The first replicas are made after the creation.
    await clusters.until(name, lambda c: settled(c) and c.status.health == "green", seconds=BORN)
    assert len(await fdb.coordinators(name)) == 3
    async with Watch(fdb, name) as watch, Writer(fdb, name) as writer:
        yield writer
    assert watch.broken == []
    assert watch.looks > 5
    assert len(writer.acknowledged) > 10
    assert await writer.missing() == set()
    assert await fdb.excluded(name) == []
