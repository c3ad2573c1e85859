"""Stale reads: what an operator does that believes an old cache. Numbers are those of docs/scenarios.md."""

import asyncio

import pytest

from stateward.simulation.apiserver.store import Event
from tests.simulation.story import CLAIMS, PODS, SECRETS, SETS, Story, hot, managers

pytestmark = pytest.mark.simulation


async def test_01_a_successor_of_the_deleted_cluster_keeps_its_volumes() -> None:
    """The operator restarts into a view in which the old cluster resource is still being deleted."""
    with Story(volumes={"onScaleDown": "Delete"}).told() as story:
        await story.begin()
        claims = story.uids(CLAIMS)
        documents = sum(shard.acknowledged for shard in story.database.shards)
        story.process.api_rates.stale = 400
        story.user.delete()
        await asyncio.sleep(5.0)
        story.user.create()
        story.process.kill()
        await story.settle()
        assert story.uids(CLAIMS) == claims
        assert sum(shard.acknowledged for shard in story.database.shards) >= documents


async def test_02_a_stale_replica_count_removes_nobody() -> None:
    """Down and up again while the operator sees nothing: the member and its volume stay."""
    with Story(volumes={"onScaleDown": "Delete"}).told() as story:
        await story.begin()
        pods, claims = story.uids(PODS), story.uids(CLAIMS)
        story.process.lags["stateward.dev/opensearchclusters"] = 40.0
        story.pools(managers(), hot(2))
        await asyncio.sleep(20.0)
        story.pools(managers(), hot(3))
        await story.settle()
        assert story.uids(PODS) == pods
        assert story.uids(CLAIMS) == claims


async def test_02_a_stale_replica_count_tells_the_database_nothing() -> None:
    """A member that is wanted is not drained while the operator sees the size of before."""
    with Story().told() as story:
        await story.begin()
        commands: list[str] = []
        story.process.lags["stateward.dev/opensearchclusters"] = 40.0
        story.pools(managers(), hot(2))
        await asyncio.sleep(20.0)
        story.pools(managers(), hot(3))
        story.process.told = commands.append
        await story.settle()
        assert commands == []


async def test_03_the_volume_of_a_new_member_does_not_go_with_the_pod_of_the_old() -> None:
    """A member leaves with its volume and comes back at once, while pods and claims are seen a minute late."""
    with Story(managers(), hot(4), volumes={"onScaleDown": "Delete"}).told() as story:
        await story.begin()
        story.process.lags |= {PODS: 60.0, CLAIMS: 60.0}
        before = story.uids(CLAIMS)
        story.pools(managers(), hot(3))
        assert await story.until(lambda: (CLAIMS, "data-logs-hot-3") in story.removed)
        story.pools(managers(), hot(4))
        await story.settle()
        assert story.removed.count((CLAIMS, "data-logs-hot-3")) == 1
        after = {name: uid for name, uid in story.uids(CLAIMS).items() if before.get(name) != uid}
        assert len(after) == 1  # One new volume, under the old name or another; and nobody took it away again.
        assert len(story.uids(CLAIMS)) == len(before)


async def test_04_secrets_of_a_living_cluster_stay_when_the_cache_has_lost_its_owner() -> None:
    """The cluster is missing in what a restarted operator reads first."""
    with Story().told() as story:
        await story.begin()
        secrets, sets = story.uids(SECRETS), story.uids(SETS)
        for _ in range(3):
            story.process.stales["stateward.dev/opensearchclusters"] = 100_000
            story.process.lags["stateward.dev/opensearchclusters"] = 60.0
            story.process.kill()
            await asyncio.sleep(120.0)
        story.process.stales.clear()
        story.process.lags.clear()
        await story.settle()
        assert story.uids(SECRETS) == secrets
        assert story.uids(SETS) == sets


async def test_06_a_dead_cluster_is_not_brought_back() -> None:
    """The objects of the deleted cluster are still there when its successor comes; they are not taken for its own."""
    with Story().told() as story:
        await story.begin()
        old = set(story.uids(SETS).values())
        story.world.garbage.delay = 120.0
        story.user.delete()
        await asyncio.sleep(3.0)
        story.user.create()
        await asyncio.sleep(100.0)
        assert old & set(story.uids(SETS).values())
        await story.settle()
        assert not old & set(story.uids(SETS).values())


async def test_07_restarts_and_late_watches_make_and_delete_nothing_again() -> None:
    """What the runs with lag create and delete is what the calm run does."""
    with Story().told() as story:
        await story.begin()
        for kind in (SETS, SECRETS, "policy/poddisruptionbudgets"):
            story.process.lags[kind] = 20.0
        for _ in range(4):
            story.process.kill()
            await asyncio.sleep(200.0)
            assert [gone for gone in story.removed if gone[0] != "events.k8s.io/events"] == []
        story.process.lags.clear()
        await story.settle()
        ours = {SETS, SECRETS, CLAIMS, PODS, "/services", "/configmaps", "policy/poddisruptionbudgets"}
        assert [made for made in story.made if made[0] in ours] == []
        assert [gone for gone in story.removed if gone[0] in ours] == []


async def test_08_own_deletions_count_before_the_cache_shows_them() -> None:
    """Managers restart one after the other although each deletion is seen half a minute late."""
    with Story(managers()).told() as story:
        await story.begin(0)
        story.process.lags |= {PODS: 30.0, SETS: 30.0}
        story.edit(config={"indices.first": 1})
        await story.settle()
        assert sorted(story.disrupted()) == ["logs-managers-0", "logs-managers-1", "logs-managers-2"]
        assert story.most_down == 1


async def test_08_a_member_that_an_old_cache_does_not_show_is_not_forgotten() -> None:
    """It counts as down while it restarts, also for an operator whose StatefulSets and pods begin with an old state."""
    with Story(managers(1), hot(3)).told() as story:
        await story.begin()
        old = story.world.store.version
        story.pools(managers(1), hot(4))
        assert await story.until(
            lambda: "the cluster matches its spec" in story.status["doing"] and "logs-hot-3" in remembered(story)
        )
        for kind in (SETS, PODS, SECRETS, CLAIMS):
            story.process.stales[kind] = story.world.store.version - old
            story.process.lags[kind] = 60.0
        forgotten: list[float] = []

        def heard(_kind: str, _event: Event) -> None:
            if "logs-hot-3" not in remembered(story):
                forgotten.append(story.world.now)

        story.world.store.subscribers.append(heard)
        story.process.kill()
        await asyncio.sleep(120.0)
        assert not forgotten


def remembered(story: Story) -> dict[str, str]:
    """Return the versions that the status remembers, by member."""
    return {m["name"]: m["version"] for m in story.status["memberStates"] if m.get("version")}
