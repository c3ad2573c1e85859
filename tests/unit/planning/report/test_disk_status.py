"""The status of a pool that grows: how full its disks are, and when they will be full."""

from stateward.planning.model import actions as a
from stateward.planning.model.observation import Growth
from stateward.planning.model.times import parse_time
from tests.unit.planning.world import GIB, World, hot, managers, settled

LIMIT = Growth(when=80, by=25, limit=200 * GIB)
HOT = ("c-hot-0", "c-hot-1", "c-hot-2")


def world(growth: Growth | None = LIMIT) -> World:
    made = settled(managers(), hot(size=100 * GIB, growth=growth), indices=((2,),))
    made.used = dict.fromkeys(HOT, 10 * GIB)
    return made


def fill(made: World, hours: int) -> World:
    """Let one disk fill by 1 GiB an hour."""
    for _ in range(hours):
        made.now += 3590.0
        made.used["c-hot-1"] += GIB
        made.tick()
    return made


def test_the_fullest_disk_and_the_size_are_in_the_status() -> None:
    made = world().ticks(1)
    made.used["c-hot-2"] = 50 * GIB
    disk = made.ticks(1).status.pools[1].disk
    assert disk is not None
    assert (disk.used_percent, disk.member, disk.volume_size, disk.full_time) == (51, "c-hot-2", "100Gi", "")


def test_a_pool_without_growth_has_no_such_status() -> None:
    assert all(pool.disk is None for pool in world(None).ticks(2).status.pools)


def test_the_forecast_is_about_the_largest_size_that_the_volume_may_have() -> None:
    made = fill(world(), 12)
    disk = made.status.pools[1].disk
    assert disk is not None
    # 194 GiB are what the file system has of 200; 22 GiB are used, and 1 GiB is written every hour.
    expected = made.now - 10 + 172 * 3600
    assert seconds(disk.full_time) == expected - expected % 3600
    made.edit(expandable=False).ticks(1)
    disk = made.status.pools[1].disk
    assert disk is not None
    assert 74 * 3600 < seconds(disk.full_time) - made.now < 76 * 3600


def seconds(text: str) -> float:
    found = parse_time(text)
    assert found is not None
    return found


def test_an_unknown_database_changes_nothing_in_the_report() -> None:
    made = fill(world(), 12)
    before = made.status.pools[1].disk
    assert made.edit(answers=False).ticks(3).status.pools[1].disk == before


def test_a_new_operator_continues_with_the_measurements_of_the_one_before() -> None:
    made = fill(world(), 12)
    assert made.copy().observe().disk_samples["hot"] == made.observe().disk_samples["hot"] != ()


def test_a_disk_that_fills_fast_gets_the_room_for_the_time_until_it_may_grow_again() -> None:
    """Steps of 5 % every six hours would be less than the 2 GiB that are written every hour."""
    made = world(Growth(when=80, by=5, limit=10_000 * GIB))
    made.used["c-hot-1"] = 60 * GIB
    for _ in range(24 * 5):
        made.now += 3590.0
        made.used["c-hot-1"] += 2 * GIB
        made.tick()
        assert made.used["c-hot-1"] * 100 < made.disk_size("c-hot-1") * 85
    grown = len(made.did(a.GrowVolume)) // 3
    assert 1 < grown < 24 * 5 / 6
