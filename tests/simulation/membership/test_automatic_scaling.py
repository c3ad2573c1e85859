"""Pools that change their size by themselves: on the safe way of all members, never back and forth, in every crash."""

import asyncio
import math
from typing import Any

import pytest

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.simulation.world.world import LIMITED
from tests.simulation.membership.test_volume_growth import fullest, write
from tests.simulation.scenario import SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

HOUR = 3600.0
CPU = {"measure": "CPU", "above": 70, "below": 40}
DISK = {"measure": "Disk", "above": 60, "below": 40}
SCALES = "stateward.dev/poolscales"


def scaling(*rules: Json, replicas: int = 3, size: str = "5Gi", **more: Any) -> Json:
    found = {"min": 2, "max": 6, **({"rules": list(rules)} if rules else {}), **more}
    return {**hot(replicas), "storage": {"size": size, "storageClass": LIMITED}, "scaling": found}


def size(scenario: Scenario) -> int:
    """Return how many data members there are."""
    return sum(s.labels.get(names.LABEL_POOL) == "hot" for s in scenario.world.store.all(SETS))


def record(scenario: Scenario) -> Any:
    return next(pool for pool in scenario.status["pools"] if pool["name"] == "hot").get("scaling", {})


async def sizes(scenario: Scenario, hours: float, work: Any = None) -> list[int]:
    """Return the sizes in the order in which the pool had them; `work` gives the load by the minute."""
    seen = [size(scenario)]
    for minute in range(int(hours * 60)):
        if work is not None:
            scenario.database.work = work(minute)
        await asyncio.sleep(60.0)
        if size(scenario) != seen[-1]:
            seen.append(size(scenario))
    return seen


async def test_a_pool_follows_the_load_of_a_day_and_goes_up_once_and_down_once() -> None:
    """The load of a day: calm at night, busy at noon, with bursts of some minutes all day."""
    with Scenario(managers(), scaling(CPU)).logged() as scenario:
        await scenario.begin()

        def work(minute: int) -> float:
            day = 100 + 180 * math.sin(math.pi * minute / (24 * 60)) ** 2
            return day * (1.5 if minute % 37 < 3 else 1.0)

        seen = await sizes(scenario, 24, work)
        peak = seen.index(max(seen))
        assert seen[peak] in {4, 5}
        assert seen[: peak + 1] == sorted(seen[: peak + 1]) or seen[1] == 2
        assert seen[peak:] == sorted(seen[peak:], reverse=True)
        assert len(seen) <= 2 * (max(seen) - min(seen)) + 2, f"{seen} is back and forth"
        assert scenario.red == 0
        scenario.check()


@pytest.mark.parametrize("load", [90, 141, 205, 285])
async def test_a_steady_load_ends_at_one_size(load: int) -> None:
    def steady(_: int) -> float:
        return float(load)

    with Scenario(managers(), scaling(CPU)).logged() as scenario:
        await scenario.begin()
        seen = await sizes(scenario, 12, steady)
        assert seen in (sorted(seen), sorted(seen, reverse=True)), f"{seen} is back and forth"
        assert (await sizes(scenario, 6, steady)) == seen[-1:]
        scenario.check()


def narrow(_: int) -> float:
    return 190.0


async def test_numbers_of_a_rule_that_are_close_to_each_other_do_not_flap() -> None:
    """Three members have a mean below the lower number, and two would have one above the upper number."""
    with Scenario(
        managers(), scaling({"measure": "CPU", "above": 70, "below": 65}, shrinkAfter="10m")
    ).logged() as scenario:
        await scenario.begin()
        assert (await sizes(scenario, 6, narrow)) == [3]
        scenario.check()


async def test_disks_that_fill_bring_new_members_before_the_database_refuses_shards() -> None:
    with Scenario(managers(), scaling(DISK, size="20Gi", min=3)).logged() as scenario:
        await scenario.begin(indices=6)
        write(scenario, 0.15)
        seen = [size(scenario)]
        for _ in range(30 * 6):
            await asyncio.sleep(600.0)
            seen.append(size(scenario))
            assert fullest(scenario) < 0.85
        assert seen == sorted(seen)
        assert seen[-1] > 3
        write(scenario, 0.0)
        await scenario.settle()


async def test_a_pool_shrinks_only_while_every_shard_keeps_its_copies() -> None:
    with Scenario(managers(), scaling(CPU, replicas=4, shrinkAfter="10m")).logged() as scenario:
        await scenario.begin()
        scenario.database.work = 20.0
        assert await scenario.until(lambda: size(scenario) == 2, 6 * HOUR)
        await scenario.settle()
        assert scenario.red == 0
        assert not scenario.disrupted()


@pytest.mark.parametrize("fatal", [2, 3, 7])
async def test_an_operator_that_dies_at_any_write_resizes_once(fatal: int) -> None:
    with Scenario(managers(), scaling(CPU, growAfter="5m")).logged() as scenario:
        await scenario.begin()
        written, deaths = iter(range(1, 10_000)), [True]

        def die(*_: str) -> None:
            if deaths and next(written) % fatal == 0:
                scenario.process.kill()

        scenario.process.write_done = die
        scenario.database.work = 250.0
        assert await scenario.until(lambda: size(scenario) == 4, 4 * HOUR)
        deaths.clear()
        await scenario.settle()
        assert (await sizes(scenario, 3)) == [4]
        assert scenario.red == 0


async def test_a_lost_member_is_no_reason_for_another_size() -> None:
    with Scenario(managers(), scaling(CPU)).logged() as scenario:
        await scenario.begin()
        scenario.database.work = 160.0
        victim = next(node for node in scenario.nodes() if node.name.endswith("hot-1"))
        scenario.world.databases.hanging.add(victim.container.uid)
        assert (await sizes(scenario, 1)) == [3]


def ask(scenario: Scenario, replicas: int, name: str = "web") -> None:
    """Create a PoolScale, or change its number as an autoscaler does."""
    found = scenario.object(SCALES, name)
    if found is not None:
        scenario.world.server.patch(SCALES, found.key, {"spec": {"replicas": replicas}}, PatchKind.MERGE)
        return
    spec = {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}, "pool": "hot", "replicas": replicas}
    scenario.world.server.create(
        SCALES,
        "data",
        {"apiVersion": "stateward.dev/v1alpha1", "kind": "PoolScale", "metadata": {"name": name}, "spec": spec},
    )


async def test_a_pool_scale_is_obeyed_within_the_limits_and_its_end_changes_nothing() -> None:
    with Scenario(managers(), scaling()).logged() as scenario:
        scenario.process.pool_scales = True
        await scenario.begin()
        ask(scenario, 5)
        assert await scenario.until(lambda: size(scenario) == 5)
        await scenario.settle()
        ask(scenario, 50)
        assert await scenario.until(lambda: size(scenario) == 6)
        assert record(scenario)["limited"]
        await scenario.settle()
        found = scenario.object(SCALES, "web")
        assert found is not None
        scenario.world.server.delete(SCALES, found.key, DeleteOptions(Preconditions(found.uid)))
        assert (await sizes(scenario, 2)) == [6]
        scenario.check()
