"""FoundationDB to a version that does not talk to the one before: both programs in real pods, a switch, then images."""

import asyncio

import pytest

from stateward.api.values import names
from tests.e2e.clusters import Clusters, condition, settled
from tests.e2e.foundationdb.database import Fdb, Watch, pools
from tests.e2e.operators import OperatorPods

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "7.1.67", "7.3.63"


@pytest.mark.images(f"foundationdb:{OLD}", f"foundationdb:{NEW}")
async def test_all_processes_change_at_one_moment_and_nothing_goes_back(
    clusters: Clusters, operator: OperatorPods, fdb: Fdb
) -> None:
    await clusters.apply("cross", version=OLD, pools=pools())
    await clusters.until("cross", settled, seconds=300)
    async with Watch(fdb, "cross") as watch:
        await clusters.apply("cross", version=NEW, pools=pools())
        before = await both_programs(clusters, fdb)
        await operator.kill()
        await switched(clusters, fdb, before)
        await operator.kill()
        await clusters.until("cross", lambda c: settled(c) and c.status.version == NEW, seconds=420)
    assert watch.broken == []
    pods = await clusters.pods("cross")
    assert {pod.metadata.annotations[names.ANNOTATION_VERSION] for pod in pods.values()} == {NEW}
    assert not [pod for pod in pods.values() if names.ANNOTATION_STAGED_VERSION in pod.metadata.annotations]
    assert {p["version"] for p in (await fdb.processes("cross")).values()} == {NEW}
    assert await fdb.excluded("cross") == []
    await clusters.apply("cross", version=OLD, pools=pools())
    refused = await clusters.until("cross", lambda c: condition(c, "Stalled") == "True", seconds=60)
    assert any("cannot be downgraded" in wait.message for wait in refused.status.waiting)


async def both_programs(clusters: Clusters, fdb: Fdb) -> dict[str, str]:
    """Wait until each pod has the programs of both versions; return the UIDs of the pods."""
    async with asyncio.timeout(420):
        while True:
            pods = await clusters.pods("cross")
            versions = {p["version"] for p in (await fdb.processes("cross")).values()}
            assert versions <= {OLD}
            if all(names.ANNOTATION_STAGED_VERSION in pod.metadata.annotations and pod.ready for pod in pods.values()):
                return {name: pod.metadata.uid for name, pod in pods.items()}
            await asyncio.sleep(0.5)


async def switched(clusters: Clusters, fdb: Fdb, before: dict[str, str]) -> None:
    """Wait until all processes are of the new version; they changed together, and in the pods that were there."""
    async with asyncio.timeout(240):
        processes = await fdb.processes("cross")
        while {p["version"] for p in processes.values()} != {NEW}:
            await asyncio.sleep(0.5)
            processes = await fdb.processes("cross")
    uptimes = [p["uptime_seconds"] for p in processes.values()]
    assert len(uptimes) >= len(before) - 1
    assert max(uptimes) - min(uptimes) < 30
    after = {name: pod.metadata.uid for name, pod in (await clusters.pods("cross")).items()}
    # The first image may have changed already.
    assert sum(after.get(name) == uid for name, uid in before.items()) >= len(before) - 1
