"""Schedules and rotations whose times a clock stored that was years ahead go on at the next usual time."""

import asyncio
from typing import Any

import pytest

from stateward.planning.model.times import parse_time, rfc3339
from tests.unit.operator.declared.snapshots.test_schedules import HOUR, began, series, world_with
from tests.unit.operator.declared.users.test_users import ROTATED
from tests.unit.operator.declared.users_world import KIND, UsersWorld
from tests.unit.operator.declared.world import World, now

YEARS = 5 * 365 * 86400.0


def moved(part: Any) -> Any:
    """Return a part of a status in which every time is years later."""
    if isinstance(part, dict):
        found: dict[str, Any] = part
        return {name: moved(value) for name, value in found.items()}
    if isinstance(part, list):
        items: list[Any] = part
        return [moved(each) for each in items]
    when = parse_time(part) if isinstance(part, str) else None
    return part if when is None else rfc3339(when + YEARS)


def move(world: World, kind: str) -> None:
    (live,) = world.store.all(kind)
    world.context.change(live, ("status",), moved(live.doc["status"]))


async def test_a_schedule_takes_its_next_snapshot_at_the_next_time() -> None:
    world = world_with()
    async with world.operator():
        await asyncio.sleep(HOUR + 120)
        move(world, world.plural)
        await asyncio.sleep(HOUR)
        assert len(began(world)) == 2
        assert (parse_time(world.status("hourly")["lastScheduleTime"]) or 0.0) <= now()
        await asyncio.sleep(HOUR)
    assert len(began(world)) == 3


async def test_a_schedule_that_was_created_ahead_takes_its_first_snapshot_at_the_next_time() -> None:
    world = world_with()
    (live,) = world.store.all(world.plural)
    world.context.change(live, ("metadata", "creationTimestamp"), rfc3339(now() + YEARS))
    async with world.operator():
        await asyncio.sleep(HOUR + 120)
        assert len(began(world)) == 1
        overdue = series(world, "stateward_snapshot_overdue_timestamp_seconds")
        assert overdue is not None
        assert overdue < now() + 3 * HOUR


async def test_a_schedule_whose_last_snapshot_is_dated_ahead_is_overdue_after_two_times_without_success() -> None:
    world = world_with(schedule="0 * * * *")
    async with world.operator():
        await asyncio.sleep(HOUR + 120)
        taken = next(iter(world.database.snapshots.repositories["files"].values()))
        (live,) = world.store.all(world.plural)
        late = {"name": "hourly-203001010000", "startTime": rfc3339(now() + YEARS), "endTime": rfc3339(now() + YEARS)}
        world.context.change(live, ("status", "lastSuccess"), late)
        assert taken
        world.reachable = False
        await asyncio.sleep(3 * HOUR)
        overdue = series(world, "stateward_snapshot_overdue_timestamp_seconds")
        assert overdue is not None
        assert overdue < now()


@pytest.mark.parametrize("hours", [1, 9])
async def test_a_password_is_rotated_after_its_time(hours: int) -> None:
    world = UsersWorld()
    world.user(password=ROTATED)
    async with world.operator():
        await world.until(world.user_ready)
        await asyncio.sleep(hours * HOUR)
        move(world, KIND)
        await asyncio.sleep(9 * HOUR)
        assert world.user_status()["username"] == "shop-1"
        await asyncio.sleep(HOUR + 600)
        assert world.user_status()["username"] == "shop-2"


async def test_a_previous_user_goes_after_the_overlap() -> None:
    world = UsersWorld()
    world.user(password=ROTATED)
    async with world.operator():
        await world.until(lambda: world.user_status().get("username") == "shop-2", 11 * HOUR)
        await asyncio.sleep(60)
        move(world, KIND)
        await asyncio.sleep(HOUR)
        assert len(world.passwords) == 2
        await asyncio.sleep(HOUR + 600)
        assert list(world.passwords) == ["shop-2"]
        before = world.user_status()
        await asyncio.sleep(HOUR)
        assert world.user_status() == before, "nothing is written again"
