"""Disks that fill: volumes grow by themselves in time, all alike, and whatever happens to the operator meanwhile."""

import asyncio
from typing import Any

import pytest

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.api.values.quantity import parse_bytes
from stateward.simulation.cluster.volumes import CLASSES
from stateward.simulation.opensearch.allocation import LOW_WATERMARK
from stateward.simulation.world.world import LIMITED
from tests.simulation.scenario import CLAIMS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

GIB = 2**30
HOUR = 3600.0


def growing(replicas: int = 3, size: str = "20Gi", **grow: str) -> Json:
    storage = {"size": size, "storageClass": LIMITED, "grow": {"max": "500Gi", **grow}}
    return {**hot(replicas), "storage": storage}


def requested(scenario: Scenario) -> dict[str, int]:
    """Return the sizes that the claims of the data members ask for, in GiB."""
    claims = (c for c in scenario.world.store.all(CLAIMS) if c.labels.get(names.LABEL_POOL) == "hot")
    return {c.key.name: parse_bytes(c.doc["spec"]["resources"]["requests"]["storage"]) // GIB for c in claims}


def fullest(scenario: Scenario) -> float:
    """Return how full the fullest disk of a data node is, from 0 to 1."""
    scenario.database.advance()
    used = {n.id: sum(s.size for s in scenario.database.shards if s.on(n.id)) for n in scenario.nodes()}
    return max(used[n.id] / n.disk.capacity for n in scenario.nodes() if n.data)


def write(scenario: Scenario, gib_an_hour: float) -> None:
    """Let each index grow."""
    for shard in scenario.database.shards:
        shard.document = int(gib_an_hour * GIB / HOUR / shard.rate)


def fill(scenario: Scenario, share: float) -> None:
    """Let all indices be as large as it takes to fill the fullest disk to a share."""
    write(scenario, 0.0)
    factor = share / fullest(scenario)
    for shard in scenario.database.shards:
        shard.size = int(shard.size * factor) + 1


async def watch(scenario: Scenario, hours: int) -> list[dict[str, int]]:
    """Return the sizes after each hour; no disk reaches the watermark, and no size shrinks or exceeds the limit."""
    seen = [requested(scenario)]
    for _ in range(hours * 6):
        await asyncio.sleep(600.0)
        seen.append(requested(scenario))
        assert all(seen[-2].get(name, 0) <= size <= 500 for name, size in seen[-1].items())
        assert fullest(scenario) < LOW_WATERMARK, f"{fullest(scenario)} with {seen[-1]}"
    return seen


async def test_39_disks_that_fill_for_a_day_and_a_half_never_reach_the_watermark() -> None:
    with Scenario(managers(1), growing(3)).logged() as scenario:
        await scenario.begin()
        write(scenario, 0.7)
        seen = await watch(scenario, 36)
        assert len({*seen[-1].values()}) == 1
        assert seen[-1]["data-logs-hot-0"] >= 40
        assert scenario.run.world.context.counts["action: GrowVolume"] == 3 * (len({str(s) for s in seen}) - 1)
        assert not scenario.disrupted()
        write(scenario, 0.0)
        scenario.check()


async def test_39_an_operator_that_is_killed_at_each_write_grows_each_volume_once() -> None:
    with Scenario(managers(1), growing(3)).logged() as scenario:
        await scenario.begin()
        scenario.process.write_done = lambda _, kind: scenario.process.kill() if kind == CLAIMS else None
        write(scenario, 0.5)
        for _ in range(24 * 6):
            await asyncio.sleep(600.0)
            assert fullest(scenario) < LOW_WATERMARK
        sizes = requested(scenario)
        assert len({*sizes.values()}) == 1
        assert sizes["data-logs-hot-0"] > 20
        scenario.check()


async def test_39_the_status_forecasts_when_the_disks_are_full() -> None:
    with Scenario(managers(1), growing(3, max="100Gi")).logged() as scenario:
        await scenario.begin()
        write(scenario, 0.1)
        assert await scenario.until(lambda: disk(scenario).get("fullTime"), 9 * HOUR)
        # 0.2 GiB an hour fill 97 GiB in about 20 days; this is the 1st of January.
        assert "2026-01-19" < disk(scenario)["fullTime"] < "2026-01-23"
        assert disk(scenario)["volumeSize"] == "20Gi"
        write(scenario, 0.0)
        scenario.check()


async def test_39_the_limit_is_named_and_a_higher_one_continues_the_growth() -> None:
    with Scenario(managers(1), growing(3, max="22Gi")).logged() as scenario:
        await scenario.begin()
        fill(scenario, 0.84)
        assert await scenario.until(lambda: {*requested(scenario).values()} == {22})
        await scenario.settle()
        fill(scenario, 0.84)
        assert await scenario.until(lambda: "GrowthLimitReached" in scenario.waits)
        scenario.pools(managers(1), growing(3, max="100Gi"))
        assert await scenario.until(lambda: "VolumeChangedRecently" in scenario.waits)
        assert await scenario.until(lambda: {*requested(scenario).values()} == {28}, 7 * HOUR)
        await scenario.settle()


def disk(scenario: Scenario) -> Any:
    return next(pool for pool in scenario.status["pools"] if pool["name"] == "hot").get("disk", {})


async def test_39_a_class_that_is_deleted_while_volumes_grow_replaces_no_member() -> None:
    with Scenario(managers(1), growing(3)).logged() as scenario:
        await scenario.begin()
        found = next(c for c in scenario.world.store.all(CLASSES) if c.key.name == LIMITED)
        scenario.world.store.remove(found)
        fill(scenario, 0.82)
        assert await scenario.until(lambda: "StorageClassUnknown" in scenario.waits)
        assert not scenario.disrupted()
        assert {*requested(scenario).values()} == {20}
        scenario.world.server.create(CLASSES, "", {**found.doc, "metadata": {"name": LIMITED}})
        await scenario.settle()
        assert {*requested(scenario).values()} == {25}


async def test_39_a_pool_that_has_grown_keeps_its_size_in_new_members_and_through_smaller_edits() -> None:
    with Scenario(managers(1), growing(3)).logged() as scenario:
        await scenario.begin()
        fill(scenario, 0.82)
        assert await scenario.until(lambda: {*requested(scenario).values()} == {25})
        await scenario.settle()
        scenario.pools(managers(1), growing(4, size="10Gi"))
        await scenario.settle()
        assert requested(scenario) == {f"data-logs-hot-{n}": 25 for n in range(4)}
        without = growing(4, size="10Gi")
        del without["storage"]["grow"]
        scenario.pools(managers(1), without)
        await scenario.settle()
        assert not scenario.disrupted()
        assert requested(scenario) == {f"data-logs-hot-{n}": 25 for n in range(4)}
