"""An edit that no node can satisfy costs no member: the real scheduler says why, and the edit can be taken back."""

import asyncio
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from tests.e2e.clusters import Clusters, condition, pool, settled
from tests.e2e.operators import kubectl
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5")]

VERSION = "2.19.5"
STANDS = 90.0
"""Seconds for which an edit is kept: before the fix, three of four members were released within 60."""
INDEX = {"settings": {"number_of_shards": 4, "number_of_replicas": 1}}


def nodes(**storage: Any) -> dict[str, object]:
    return {**pool("nodes", 4, "cluster_manager", "data", "ingest"), "storage": {"size": "1Gi", **storage}}


def stuck(cluster: Cluster) -> str:
    return next((w.message for w in cluster.status.waiting if w.reason == "NewMemberStuck"), "")


async def test_a_storage_class_that_does_not_exist_costs_no_member(clusters: Clusters) -> None:
    await clusters.apply("misspelt", version=VERSION, pools=[nodes()])
    await clusters.until("misspelt", settled, seconds=600)
    await clusters.database("misspelt").ask("/docs?wait_for_active_shards=all", "PUT", INDEX)
    before = {name: pod.metadata.uid for name, pod in (await clusters.pods("misspelt")).items()}
    async with Writer(clusters.database("misspelt"), "docs") as writer, Promises(clusters, "misspelt", 0) as promises:
        await clusters.apply("misspelt", version=VERSION, pools=[nodes(storageClass="no-such-class")])
        told = await clusters.until("misspelt", lambda c: bool(stuck(c)), seconds=60)
        assert "no-such-class" in stuck(told)
        assert condition(told, "Stalled") == "True"
        await asyncio.sleep(STANDS)
        await clusters.apply("misspelt", version=VERSION, pools=[nodes()])
        await clusters.until("misspelt", settled, seconds=300)
    assert promises.broken == []
    assert promises.seen_health == {"green"}
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods("misspelt")).items()} == before
    assert await writer.missing() == set()


async def test_cordoned_nodes_and_smaller_volumes_cost_no_member(clusters: Clusters, stateward: Sandbox) -> None:
    await clusters.apply("cordoned", version=VERSION, pools=[nodes()])
    await clusters.until("cordoned", settled, seconds=600)
    await clusters.database("cordoned").ask("/docs?wait_for_active_shards=all", "PUT", INDEX)
    async with Writer(clusters.database("cordoned"), "docs") as writer, Promises(clusters, "cordoned", 0) as promises:
        machines = kubectl(stateward, "get", "nodes", "-o", "name").split()
        kubectl(stateward, "cordon", *machines)
        try:
            await clusters.apply("cordoned", version=VERSION, pools=[nodes(size="900Mi")])
            told = await clusters.until("cordoned", lambda c: bool(stuck(c)), seconds=90)
            assert "unschedulable" in stuck(told)
            await asyncio.sleep(STANDS)
        finally:
            kubectl(stateward, "uncordon", *machines)
        await clusters.until("cordoned", settled, seconds=900)
    assert promises.broken == []
    assert "red" not in promises.seen_health
    assert await writer.missing() == set()
