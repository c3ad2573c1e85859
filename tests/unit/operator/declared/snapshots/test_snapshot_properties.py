"""Whatever is lost, garbled or killed: no snapshot is taken twice, none of others is touched, no data is lost."""

import asyncio

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.simulation.opensearch.http import Rates
from stateward.simulation.opensearch.snapshots import ModelIndex, ModelSnapshot
from tests.unit.operator.declared.lives import lives, played
from tests.unit.operator.declared.world import World, now

DEATHS = st.lists(st.sampled_from([0, 1, 2, 3, 4, 5]), min_size=1, max_size=4)
LOST = st.sampled_from([0.0, 0.1, 0.3])
drawn = settings(max_examples=40, phases=[Phase.explicit, Phase.reuse, Phase.generate])


def rates(lost: float) -> Rates:
    return Rates(error=lost / 2, lost=lost, garbled=lost / 3)


def world_of(kind: str, seed: int) -> World:
    world = World(seed, kind)
    world.database.snapshots.repositories["files"] = {}
    world.database.snapshots.add_index("logs-1", 3)
    return world


@drawn
@given(deaths=DEATHS, lost=LOST, seed=st.integers(0, 99), wait=st.sampled_from([5, 60, 1200]))
def test_a_snapshot_is_taken_exactly_once(deaths: list[int], lost: float, seed: int, wait: float) -> None:
    played(taken_once(deaths, lost, seed, wait))


async def taken_once(deaths: list[int], lost: float, seed: int, wait: float) -> None:
    world = world_of("SearchSnapshot", seed)
    world.declare(repository="files", deletionPolicy="Delete")
    for number in deaths:
        world.database.wire.rates = rates(lost)
        await lives(world, number, wait)
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(world.is_ready, 7200)
        assert world.database.snapshots.began == ["one"]
        world.delete()
        world.database.wire.rates = rates(lost)
        await world.until(lambda: not world.exists(), 36000)
    assert world.database.snapshots.repositories["files"] == {}


@drawn
@given(deaths=DEATHS, lost=LOST, seed=st.integers(0, 99))
def test_a_snapshot_that_was_there_before_is_never_touched(deaths: list[int], lost: float, seed: int) -> None:
    played(untouched(deaths, lost, seed))


async def untouched(deaths: list[int], lost: float, seed: int) -> None:
    world = world_of("SearchSnapshot", seed)
    theirs = ModelSnapshot("one", "u", now(), now() + 30, "SUCCESS", {"stateward.dev/search-snapshot": "prod/one"}, {})
    world.database.snapshots.repositories["files"]["one"] = theirs
    world.declare(repository="files")
    for number in deaths:
        world.database.wire.rates = rates(lost)
        await lives(world, number, 60)
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(lambda: world.stalled() == "SnapshotExists", 7200)
        world.delete()
        await world.until(lambda: not world.exists(), 7200)
    assert world.database.snapshots.repositories["files"] == {"one": theirs}
    assert world.database.snapshots.began == []


@drawn
@given(deaths=DEATHS, lost=LOST, seed=st.integers(0, 99), most=st.integers(1, 3))
def test_a_schedule_takes_one_snapshot_for_a_time_and_one_at_once(
    deaths: list[int], lost: float, seed: int, most: int
) -> None:
    played(scheduled(deaths, lost, seed, most))


async def scheduled(deaths: list[int], lost: float, seed: int, most: int) -> None:
    world = world_of("SearchSnapshotSchedule", seed)
    stored = world.database.snapshots.repositories["files"]
    kept = ModelSnapshot("hourly-202001010000", "u", 1.0, 2.0, "SUCCESS", {}, {})
    stored[kept.name] = kept
    for name in ("hourly", "also"):
        world.declare(name, repository="files", schedule="0 * * * *", retention={"maxCount": most})
    watching = asyncio.create_task(one_at_once(world))
    for number in deaths:
        world.database.wire.rates = rates(lost)
        await lives(world, number, 1800)
    world.database.wire.rates = Rates()
    async with world.operator():
        await asyncio.sleep(3 * 3600 + 900)
        assert not watching.done() or watching.result()
        watching.cancel()
    began = world.database.snapshots.began
    assert len(began) == len(set(began))
    for name in ("hourly", "also"):
        own = [each for each in began if each.startswith(f"{name}-")]
        assert sorted(set(own) & stored.keys()) == own[-most:]
        assert world.status(name)["lastSuccess"]["name"] == own[-1]
    assert kept.name in stored


async def one_at_once(world: World) -> None:
    stored = world.database.snapshots.repositories["files"]
    while True:
        assert sum(now() < each.ends for each in stored.values()) <= 1
        await asyncio.sleep(5)


@drawn
@given(deaths=DEATHS, lost=LOST, seed=st.integers(0, 99), replace=st.booleans(), wait=st.sampled_from([5, 60, 1200]))
def test_a_restore_happens_once_and_what_is_written_after_it_stays(
    deaths: list[int], lost: float, seed: int, replace: bool, wait: float
) -> None:
    played(restored_once(deaths, lost, seed, replace, wait))


async def restored_once(deaths: list[int], lost: float, seed: int, replace: bool, wait: float) -> None:
    world = world_of("SearchRestore", seed)
    copies = {"logs-1": ModelIndex(5, 1000), "logs-2": ModelIndex(6, 1000)}
    taken = ModelSnapshot("nightly", "u", now() - 9, now() - 5, "SUCCESS", {}, copies)
    world.database.snapshots.repositories["files"]["nightly"] = taken
    words = {"existing": "Replace"} if replace else {"renamePattern": "(.+)", "renameReplacement": "x-$1"}
    world.declare(repository="files", snapshot="nightly", **words)
    for number in deaths:
        world.database.wire.rates = rates(lost)
        await lives(world, number, wait)
        for found in world.database.snapshots.indices.values():
            if found.restored_from:
                found.documents = 50  # People write into it as soon as it is there.
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(world.is_ready, 7200)
        await asyncio.sleep(3600)
    indices = world.database.snapshots.indices
    names = ["logs-1", "logs-2"] if replace else ["x-logs-1", "x-logs-2"]
    assert world.database.snapshots.restores == 2, "each of two indices once"
    assert all(indices[name].open and indices[name].restored_from for name in names)
    assert len({indices[name].documents == 50 for name in names}) == 1
    if not replace:
        assert indices["logs-1"].documents == 3
