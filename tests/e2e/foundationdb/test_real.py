"""Clusters of real FoundationDB processes, whose programs the environment names: no acknowledged key is lost."""

import pytest

from sandbox import Sandbox
from sandbox.foundationdb import real
from stateward.api.kinds.cluster import Cluster
from tests.e2e.clusters import Clusters, settled
from tests.e2e.failing import break_volume, gone, phase, ready
from tests.e2e.failures import AFTER
from tests.e2e.foundationdb.database import Fdb
from tests.e2e.foundationdb.real_clusters import CHANGED, apply, written
from tests.e2e.operators import OperatorPods

VERSION = real.versions()[0]
pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images(f"foundationdb-real:{VERSION}")]


async def test_a_real_life(clusters: Clusters, operator: OperatorPods, fdb: Fdb) -> None:
    async with written(clusters, fdb, "real", VERSION):
        await grow_and_shrink(clusters, operator, fdb)
        await change_a_knob(clusters, fdb)
        await replace_a_coordinator(clusters, fdb)


async def grow_and_shrink(clusters: Clusters, operator: OperatorPods, fdb: Fdb) -> None:
    await apply(clusters, "real", VERSION, storage=4)
    await clusters.until("real", lambda c: settled(c) and len(ready(c)) == 9, seconds=CHANGED)
    assert "real-storage-3" in await fdb.processes("real")
    await apply(clusters, "real", VERSION)
    await operator.kill()
    await clusters.until("real", lambda c: settled(c) and len(ready(c)) == 8, seconds=CHANGED)
    await fdb.until_listed("real", lambda members: len(members) == 8)
    assert await fdb.excluded("real") == []


async def change_a_knob(clusters: Clusters, fdb: Fdb) -> None:
    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods("real")).items()}
    await apply(clusters, "real", VERSION, knobs={"max_shard_bytes": "500000"})
    await clusters.until("real", settled, seconds=CHANGED)
    processes = await fdb.processes("real")
    assert len(processes) == 8
    assert all("--knob_max_shard_bytes=500000" in p["command_line"] for p in processes.values())
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods("real")).items()} == pods


async def replace_a_coordinator(clusters: Clusters, fdb: Fdb) -> None:
    voter = min(name for name in await fdb.coordinators("real") if "storage" in name)
    await apply(clusters, "real", VERSION, knobs={"max_shard_bytes": "500000"}, members={"replace": [voter]})

    def replaced(cluster: Cluster) -> bool:
        return settled(cluster) and voter not in ready(cluster)

    await clusters.until("real", replaced, seconds=CHANGED)
    coordinators = await fdb.coordinators("real")
    assert voter not in coordinators
    assert len(coordinators) == 3
    await fdb.until_listed("real", lambda members: voter not in members)


async def test_a_real_member_with_a_broken_volume_is_replaced(clusters: Clusters, stateward: Sandbox, fdb: Fdb) -> None:
    member = "broken-storage-1"
    async with written(clusters, fdb, "broken", VERSION, replacement=AFTER):
        await break_volume(stateward, clusters, member)
        await clusters.until("broken", lambda c: phase(c, member) != "", seconds=CHANGED)
        done = await clusters.until("broken", lambda c: gone(c, member), seconds=CHANGED * 2)
        assert len(ready(done)) == 8
        assert member not in await fdb.processes("broken")
        assert member not in await fdb.coordinators("broken")
