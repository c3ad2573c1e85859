"""Stale reads: what an operator does that believes an old cache. Numbers are those of docs/scenarios.md."""

import asyncio
from typing import Any

import pytest

from stateward.simulation.apiserver.client import WorldApi, kind_name
from stateward.simulation.apiserver.store import Event
from stateward.simulation.opensearch.http import Wire
from tests.simulation.scenario import CLAIMS, PODS, SECRETS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation


async def test_01_a_successor_of_the_deleted_cluster_keeps_its_volumes() -> None:
    """The operator restarts into a view in which the old cluster resource is still being deleted."""
    with Scenario(volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin()
        claims = scenario.uids(CLAIMS)
        documents = sum(shard.acknowledged for shard in scenario.database.shards)
        scenario.process.api_rates.stale = 400
        scenario.user.delete()
        await asyncio.sleep(5.0)
        scenario.user.create()
        scenario.process.kill()
        await scenario.settle()
        assert scenario.uids(CLAIMS) == claims
        assert sum(shard.acknowledged for shard in scenario.database.shards) >= documents


async def test_02_a_stale_replica_count_removes_no_member() -> None:
    """Down and up again while the operator sees nothing: the member and its volume stay."""
    with Scenario(volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin()
        pods, claims = scenario.uids(PODS), scenario.uids(CLAIMS)
        scenario.process.lags["stateward.dev/osclusters"] = 40.0
        scenario.pools(managers(), hot(2))
        await asyncio.sleep(20.0)
        scenario.pools(managers(), hot(3))
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert scenario.uids(CLAIMS) == claims


async def test_02_a_stale_replica_count_reports_the_database_nothing() -> None:
    """A member that is wanted is not drained while the operator sees the size of before."""
    with Scenario().logged() as scenario:
        await scenario.begin()
        commands: list[str] = []
        scenario.process.lags["stateward.dev/osclusters"] = 40.0
        scenario.pools(managers(), hot(2))
        await asyncio.sleep(20.0)
        scenario.pools(managers(), hot(3))
        scenario.process.command_done = commands.append
        await scenario.settle()
        assert commands == []


async def test_03_the_volume_of_a_new_member_does_not_go_with_the_pod_of_the_old() -> None:
    """A member leaves with its volume and comes back at once, while pods and claims are seen a minute late."""
    with Scenario(managers(), hot(4), volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin()
        scenario.process.lags |= {PODS: 60.0, CLAIMS: 60.0}
        before = scenario.uids(CLAIMS)
        scenario.pools(managers(), hot(3))
        assert await scenario.until(lambda: (CLAIMS, "data-logs-hot-3") in scenario.removed)
        scenario.pools(managers(), hot(4))
        await scenario.settle()
        assert scenario.removed.count((CLAIMS, "data-logs-hot-3")) == 1
        after = {name: uid for name, uid in scenario.uids(CLAIMS).items() if before.get(name) != uid}
        assert len(after) == 1  # One new volume, under the old name or another, which was not deleted again.
        assert len(scenario.uids(CLAIMS)) == len(before)


async def test_04_secrets_of_a_living_cluster_stay_when_the_cache_has_lost_its_owner() -> None:
    """The cluster is missing in what a restarted operator reads first."""
    with Scenario().logged() as scenario:
        await scenario.begin()
        secrets, sets = scenario.uids(SECRETS), scenario.uids(SETS)
        for _ in range(3):
            scenario.process.stales["stateward.dev/osclusters"] = 100_000
            scenario.process.lags["stateward.dev/osclusters"] = 60.0
            scenario.process.kill()
            await asyncio.sleep(120.0)
        scenario.process.stales.clear()
        scenario.process.lags.clear()
        await scenario.settle()
        assert scenario.uids(SECRETS) == secrets
        assert scenario.uids(SETS) == sets


async def test_06_a_dead_cluster_is_not_brought_back() -> None:
    """The objects of the deleted cluster are still there when its successor comes; they are not taken for its own."""
    with Scenario().logged() as scenario:
        await scenario.begin()
        old = set(scenario.uids(SETS).values())
        scenario.world.garbage.delay = 120.0
        scenario.user.delete()
        await asyncio.sleep(3.0)
        scenario.user.create()
        await asyncio.sleep(100.0)
        assert old & set(scenario.uids(SETS).values())
        await scenario.settle()
        assert not old & set(scenario.uids(SETS).values())


async def test_07_restarts_and_late_watches_make_and_delete_nothing_again() -> None:
    """Runs with lag create and delete the same objects as the run without faults."""
    with Scenario().logged() as scenario:
        await scenario.begin()
        for kind in (SETS, SECRETS, "policy/poddisruptionbudgets"):
            scenario.process.lags[kind] = 20.0
        for _ in range(4):
            scenario.process.kill()
            await asyncio.sleep(200.0)
            assert [gone for gone in scenario.removed if gone[0] != "events.k8s.io/events"] == []
        scenario.process.lags.clear()
        await scenario.settle()
        ours = {SETS, SECRETS, CLAIMS, PODS, "/services", "/configmaps", "policy/poddisruptionbudgets"}
        assert [made for made in scenario.made if made[0] in ours] == []
        assert [gone for gone in scenario.removed if gone[0] in ours] == []


async def test_08_own_deletions_count_before_the_cache_shows_them() -> None:
    """Managers restart one after the other although each deletion is seen half a minute late."""
    with Scenario(managers()).logged() as scenario:
        await scenario.begin(0)
        scenario.process.lags |= {PODS: 30.0, SETS: 30.0}
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert sorted(scenario.disrupted()) == ["logs-managers-0", "logs-managers-1", "logs-managers-2"]
        assert scenario.most_down == 1


async def test_08_a_member_that_an_old_cache_does_not_show_is_not_forgotten() -> None:
    """It counts as down while it restarts, also for an operator whose StatefulSets and pods begin with an old state."""
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin()
        old = scenario.world.store.version
        scenario.pools(managers(1), hot(4))
        assert await scenario.until(
            lambda: (
                "the cluster matches its spec" in scenario.status["activity"] and "logs-hot-3" in remembered(scenario)
            )
        )
        for kind in (SETS, PODS, SECRETS, CLAIMS):
            scenario.process.stales[kind] = scenario.world.store.version - old
            scenario.process.lags[kind] = 60.0
        forgotten: list[float] = []

        def heard(_kind: str, _event: Event) -> None:
            if "logs-hot-3" not in remembered(scenario):
                forgotten.append(scenario.world.now)

        scenario.world.store.subscribers.append(heard)
        scenario.process.kill()
        await asyncio.sleep(120.0)
        assert not forgotten


def remembered(scenario: Scenario) -> dict[str, str]:
    """Return the versions that the status remembers, by member."""
    return {m["name"]: m["version"] for m in scenario.status["memberStates"] if m.get("version")}


async def test_22_pods_are_read_again_if_the_database_takes_long_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that fails during the questions counts: no other one stops because all were ready before them."""
    read: list[float] = []
    slow, plain = Wire.reach, WorldApi.list

    async def reach(self: Wire, patience: float) -> None:
        await asyncio.sleep(1.0)
        await slow(self, patience)

    async def listed(self: WorldApi, resource: Any, *rest: Any, **more: Any) -> Any:
        found = await plain(self, resource, *rest, **more)
        if kind_name(resource) == PODS:
            read.append(scenario.world.now)
        return found

    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        monkeypatch.setattr(Wire, "reach", reach)
        monkeypatch.setattr(WorldApi, "list", listed)
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        stops = [at for at, _ in scenario.run.watchdog.disruptions]
        assert len(stops) >= 3
        for stop in stops:
            # To limit the allocation and to flush takes five requests; before them, as many are asked to decide.
            assert stop - max(at for at in read if at < stop) < 7.0, read
