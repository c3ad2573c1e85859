"""A deleted resource of a cluster that goes, or is not in the cache: it says what it waits for, and the way out."""

import msgspec

from stateward.api.kinds.search import OpenSearchCluster
from tests.unit.operator.declared.world import CLUSTER, World


async def test_a_deleted_resource_says_how_to_go_before_its_cluster() -> None:
    """A cluster may stay for long, for example because of a finalizer of others."""
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        meta = {**CLUSTER["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        world.found = msgspec.convert({**CLUSTER, "metadata": meta}, OpenSearchCluster)
        world.delete()
        await world.until(lambda: world.condition("Reconciling").get("reason") == "ClusterDeleted")
        assert "logs is being deleted; to leave it there, set deletionPolicy to Retain" in world.status()["activity"]
        world.found = None
        await world.until(lambda: world.condition("Reconciling").get("reason") == "ClusterUnknown")
        assert "logs is not known; to leave it there, set deletionPolicy to Retain" in world.status()["activity"]
        world.template(deletionPolicy="Retain")
        await world.until(lambda: not world.exists())
