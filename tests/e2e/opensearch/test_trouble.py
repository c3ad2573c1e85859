"""Failures during a change: broken versions, lost nodes, killed operators, a full outage."""

import asyncio
from contextlib import suppress

import pytest

from sandbox import Sandbox
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import key_of
from tests.e2e.clusters import Clusters, condition, pool, settled
from tests.e2e.operators import OperatorPods, kubectl
from tests.e2e.witness import Promises, Writer, over

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "2.17.1", "2.19.5"
BOTH = pytest.mark.images("opensearch:2.17.1", "opensearch:2.19.5")


def all_in_one(replicas: int = 3) -> dict[str, object]:
    return pool("nodes", replicas, "cluster_manager", "data", "ingest")


@BOTH
async def test_a_version_that_does_not_start_stops_at_the_first_member_and_the_revert_goes_through(
    clusters: Clusters,
) -> None:
    await clusters.apply("broken", version=OLD, pools=[all_in_one()])
    await clusters.until("broken", settled, seconds=600)
    await clusters.database("broken").create_index("docs")
    async with Writer(clusters.database("broken"), "docs") as writer, Promises(clusters, "broken") as promises:
        await clusters.apply("broken", version="2.19.999", pools=[all_in_one()])
        stalled = await clusters.until("broken", lambda c: condition(c, "Stalled") == "True", seconds=180)
        assert stalled.status.version == OLD
        states = {m.name: m.version for m in stalled.status.member_states}
        assert set(states.values()) == {OLD}
        await clusters.apply("broken", version=OLD, pools=[all_in_one()])
        await clusters.until("broken", settled, seconds=300)
    assert promises.broken == []
    assert await writer.missing() == set()


@BOTH
async def test_a_version_that_does_not_start_can_be_fixed_forward(clusters: Clusters) -> None:
    await clusters.apply("fixed", version=OLD, pools=[all_in_one()])
    await clusters.until("fixed", settled, seconds=600)
    await clusters.apply("fixed", version="2.19.999", pools=[all_in_one()])
    await clusters.until("fixed", lambda c: condition(c, "Stalled") == "True", seconds=180)
    await clusters.apply("fixed", version=NEW, pools=[all_in_one()])
    fixed = await clusters.until("fixed", settled, seconds=600)
    assert fixed.status.version == NEW


@BOTH
async def test_an_operator_killed_again_and_again_finishes_the_upgrade(
    clusters: Clusters, operator: OperatorPods
) -> None:
    await clusters.apply("killed", version=OLD, pools=[all_in_one()])
    await clusters.until("killed", settled, seconds=600)
    await clusters.database("killed").create_index("docs")

    done = asyncio.Event()

    async def keep_killing() -> None:
        for _ in range(30):
            if await over(done, 7):
                return
            await operator.kill()

    async with Writer(clusters.database("killed"), "docs") as writer, Promises(clusters, "killed") as promises:
        await clusters.apply("killed", version=NEW, pools=[all_in_one()])
        killer = asyncio.create_task(keep_killing())
        await clusters.until("killed", lambda c: settled(c) and c.status.version == NEW, seconds=900)
        done.set()
        await killer
    assert promises.broken == []
    assert await writer.missing() == set()
    assert not (left := await clusters.database("killed").left_behind()), left


@BOTH
async def test_a_kubernetes_node_drained_during_an_upgrade_takes_no_second_member_down(
    clusters: Clusters, stateward: Sandbox
) -> None:
    await clusters.apply("drained", version=OLD, pools=[all_in_one()])
    await clusters.until("drained", settled, seconds=600)
    await clusters.database("drained").create_index("docs")
    pods = await clusters.pods("drained")
    node = pods["drained-nodes-0"].spec.node_name
    async with Writer(clusters.database("drained"), "docs") as writer, Promises(clusters, "drained") as promises:
        await clusters.apply("drained", version=NEW, pools=[all_in_one()])
        await clusters.until("drained", lambda c: any(m.state == "Restarting" for m in c.status.member_states))
        kubectl(stateward, "cordon", node)
        drain = asyncio.create_task(
            asyncio.to_thread(
                kubectl,
                stateward,
                "drain",
                node,
                "--ignore-daemonsets",
                "--delete-emptydir-data",
                "--timeout=240s",
                "--pod-selector=stateward.dev/cluster=drained",
            )
        )
        # Its volume is on that node, so the member waits there until the node takes pods again.
        await asyncio.sleep(45)
        kubectl(stateward, "uncordon", node)
        await clusters.until("drained", lambda c: settled(c) and c.status.version == NEW, seconds=900)
        with suppress(AssertionError):
            await drain
    assert promises.broken == []
    assert await writer.missing() == set()


@pytest.mark.images("opensearch:2.19.5")
async def test_managers_shrink_from_three_to_one_without_losing_the_quorum(clusters: Clusters) -> None:
    hot = pool("hot", 2, "data", "ingest")
    await clusters.apply("managers", version=NEW, pools=[pool("managers", 3, "cluster_manager"), hot])
    await clusters.until("managers", settled, seconds=600)
    await clusters.database("managers").create_index("docs")
    async with Writer(clusters.database("managers"), "docs") as writer:
        await clusters.apply("managers", version=NEW, pools=[pool("managers", 1, "cluster_manager"), hot])
        await clusters.until("managers", settled, seconds=300)
    assert await writer.missing() == set()
    state = await clusters.database("managers").ask("_cluster/state/metadata?filter_path=metadata.cluster_coordination")
    coordination = state["metadata"]["cluster_coordination"]
    assert len(coordination["last_committed_config"]) == 1
    assert coordination["voting_config_exclusions"] == []
    assert (await clusters.database("managers").health())["status"] == "green"


@pytest.mark.images("opensearch:2.19.5")
async def test_after_a_full_outage_all_members_start_at_once_and_the_cluster_is_healthy(clusters: Clusters) -> None:
    await clusters.apply("outage", version=NEW, pools=[all_in_one()])
    before = await clusters.until("outage", settled, seconds=600)
    await clusters.database("outage").create_index("docs")
    async with Writer(clusters.database("outage"), "docs") as writer:
        await asyncio.sleep(5)
    for pod in (await clusters.pods("outage")).values():
        with suppress(NotFound):
            options = DeleteOptions(Preconditions(pod.metadata.uid), grace_seconds=0)
            await clusters.api.delete(kinds.PODS, key_of(pod), options)
    await clusters.until("outage", lambda c: not settled(c), seconds=60)
    after = await clusters.until("outage", settled, seconds=300)
    assert after.status.cluster_uuid == before.status.cluster_uuid
    assert await writer.missing() == set()


@pytest.mark.images("opensearch:2.19.5")
async def test_a_pool_is_renamed_new_in_data_over_old_out(clusters: Clusters) -> None:
    managers = pool("managers", 1, "cluster_manager")
    await clusters.apply("renamed", version=NEW, pools=[managers, pool("hot", 2, "data", "ingest")])
    await clusters.until("renamed", settled, seconds=600)
    await clusters.database("renamed").create_index("docs")
    async with Writer(clusters.database("renamed"), "docs") as writer:
        await clusters.apply("renamed", version=NEW, pools=[managers, pool("warm", 2, "data", "ingest")])
        await clusters.until("renamed", settled, seconds=600)
    assert sorted(await clusters.pods("renamed")) == ["renamed-managers-0", "renamed-warm-0", "renamed-warm-1"]
    assert await writer.missing() == set()


@BOTH
async def test_an_index_made_on_the_only_upgraded_node_does_not_stop_the_upgrade(clusters: Clusters) -> None:
    """Its replica cannot be placed before a second node is upgraded, so waiting for green would never end."""
    await clusters.apply("yellow", version=OLD, pools=[all_in_one()])
    await clusters.until("yellow", settled, seconds=600)
    database = clusters.database("yellow")
    await clusters.apply("yellow", version=NEW, pools=[all_in_one()])

    async def one_is_upgraded() -> str:
        while True:
            with suppress(Exception):
                versions = await database.versions()
                new = [name for name, version in versions.items() if version == NEW]
                if len(versions) == 3 and new:
                    return new[0]
            await asyncio.sleep(0.5)

    async with asyncio.timeout(300):
        upgraded = await one_is_upgraded()
    settings = {"index.number_of_replicas": 1, "index.number_of_shards": 1}
    settings |= {"index.routing.allocation.include._name": upgraded}
    await database.ask("held?wait_for_active_shards=1", "PUT", {"settings": settings})
    await database.ask("held/_settings", "PUT", {"index.routing.allocation.include._name": None})
    done = await clusters.until("yellow", lambda c: settled(c) and c.status.version == NEW, seconds=900)
    assert done.status.health == "green"
