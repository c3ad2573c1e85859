"""Snapshots by a schedule: taken when due, one at a time, missed ones once, and deleted when they have expired."""

import asyncio
from typing import Any

import pytest

from stateward.engines.connection.base import RefusedError
from stateward.engines.search.declared.writes import Request
from stateward.operator.declared.snapshots import schedule
from stateward.simulation.opensearch.snapshots import ModelIndex, ModelSnapshot
from tests.unit.operator.declared.world import HOME, World, now

HOUR = 3600.0
HOURLY = "0 * * * *"


def world_with(seed: int = 1, /, **spec: Any) -> World:
    world = World(seed, "SearchSnapshotSchedule")
    world.database.snapshots.repositories["files"] = {}
    world.database.snapshots.add_index("logs-1", 3)
    world.declare("hourly", **{"repository": "files", "schedule": HOURLY, **spec})
    return world


def began(world: World) -> list[str]:
    return world.database.snapshots.began


def series(world: World, name: str) -> float | None:
    labels = {"namespace": HOME, "cluster": "logs", "name": "hourly"}
    return world.metrics.registry.get_sample_value(name, labels)


async def test_a_snapshot_is_taken_at_each_time_and_the_status_says_how_it_went() -> None:
    world = world_with()
    async with world.operator():
        await asyncio.sleep(5 * HOUR + 120)
        status = world.status("hourly")
    assert len(began(world)) == 5
    assert all(name.startswith("hourly-") and name.endswith("00") and len(name) == 19 for name in began(world))
    assert status["count"] == 5
    assert status["lastSuccess"]["name"] == began(world)[-1]
    assert status["lastSuccess"]["sizeBytes"] == 3000
    assert status["nextScheduleTime"] > status["lastScheduleTime"]
    assert not status.get("running")
    assert world.condition("Ready", "hourly")["reason"] == "Scheduled"
    last = series(world, "stateward_snapshot_last_success_timestamp_seconds")
    overdue = series(world, "stateward_snapshot_overdue_timestamp_seconds")
    assert last is not None
    assert overdue is not None
    assert now() < overdue <= now() + 2 * HOUR
    assert series(world, "stateward_snapshot_failures_total") == 0


async def test_times_that_were_missed_are_made_up_for_once() -> None:
    world = world_with()
    async with world.operator():
        await asyncio.sleep(HOUR + 120)
    await asyncio.sleep(10 * HOUR)
    assert len(began(world)) == 1
    async with world.operator():
        await asyncio.sleep(300)
        assert len(began(world)) == 2
        await asyncio.sleep(HOUR)
    assert len(began(world)) == 3


async def test_nothing_is_taken_before_the_first_time() -> None:
    world = world_with(schedule="0 0 1 1 *")
    async with world.operator():
        await asyncio.sleep(2 * HOUR)
    assert began(world) == []


async def test_two_schedules_never_take_snapshots_at_once_in_one_repository() -> None:
    world = world_with()
    world.declare("also", repository="files", schedule=HOURLY)
    most = 0
    async with world.operator():
        for _ in range(int((3 * HOUR + 300) / 5)):
            await asyncio.sleep(5)
            stored = world.database.snapshots.repositories["files"].values()
            most = max(most, sum(now() < each.ends for each in stored))
    assert most == 1
    assert len(began(world)) == 6


@pytest.mark.parametrize("seed", range(20))
async def test_an_operator_that_starts_when_several_schedules_are_due_takes_one_snapshot_at_once(seed: int) -> None:
    world = world_with(seed)
    for name in ("also", "third"):
        world.declare(name, repository="files", schedule=HOURLY)
    await asyncio.sleep(HOUR + 60)
    async with world.operator():
        await world.until(lambda: began(world), 60)
        await asyncio.sleep(20)
        assert len(began(world)) == 1
        await asyncio.sleep(600)
    assert len(began(world)) == 3


async def test_a_snapshot_by_another_client_is_awaited() -> None:
    world = world_with()
    theirs = ModelSnapshot("theirs", "u", now(), now() + 2 * HOUR, "SUCCESS", {}, {})
    world.database.snapshots.repositories["files"]["theirs"] = theirs
    async with world.operator():
        await world.until(lambda: world.condition("Reconciling", "hourly").get("reason") == "RepositoryBusy", 2 * HOUR)
        assert began(world) == []
        await world.until(lambda: began(world), 2 * HOUR)


async def test_a_failed_snapshot_is_counted_and_told_until_the_next_success() -> None:
    world = world_with()
    world.database.snapshots.fails = "FAILED"
    async with world.operator():
        await world.until(lambda: world.stalled("hourly") == "SnapshotFailed", 2 * HOUR)
        assert "node left" in world.status("hourly")["lastFailure"]["reason"]
        await world.until(lambda: series(world, "stateward_snapshot_failures_total") == 1, 5)
        assert series(world, "stateward_snapshot_last_success_timestamp_seconds") is None
        world.database.snapshots.fails = "SUCCESS"
        await world.until(lambda: world.condition("Ready", "hourly").get("reason") == "Scheduled", 2 * HOUR)
    assert series(world, "stateward_snapshot_failures_total") == 1


async def test_what_the_database_refuses_is_tried_again_and_does_not_block_others() -> None:
    world = world_with(indices=["missing"])
    world.declare("also", repository="files", schedule=HOURLY)
    async with world.operator():
        await world.until(lambda: world.stalled("hourly") == "Refused", 2 * HOUR)
        await world.until(lambda: len(began(world)) == 1, HOUR / 2)
        assert began(world)[0].startswith("also-")
        await world.until(lambda: series(world, "stateward_snapshot_failures_total") == 1, 5)
        world.database.snapshots.add_index("missing", 1)
        await world.until(lambda: len(began(world)) == 2, HOUR / 2)
        await world.until(lambda: "lastSuccess" in world.status("hourly"), 120)
        status = world.status("hourly")
        assert status["lastSuccess"]["name"] == status["lastFailure"]["name"], "it has succeeded in the end"
        assert world.is_ready("hourly")


async def test_a_schedule_whose_snapshot_was_refused_does_not_hold_another_one_up() -> None:
    world = world_with(indices=["missing"])
    world.declare("also", repository="files", schedule="30 * * * *")
    async with world.operator():
        await world.until(lambda: world.stalled("hourly") == "Refused", 2 * HOUR)
        before = len(began(world))
        await world.until(lambda: len(began(world)) == before + 1, 0.6 * HOUR)
        assert world.stalled("hourly") == "Refused"
    assert began(world)[-1].startswith("also-")


async def test_a_schedule_that_becomes_invalid_while_it_takes_a_snapshot_does_not_hold_another_one_up() -> None:
    world = world_with(schedule="30 * * * *")
    world.declare("also", repository="files", schedule=HOURLY)
    async with world.operator():
        await world.until(lambda: world.status("also").get("running"), HOUR + 120)
        world.declare("also", schedule="61 * * * *")
        await asyncio.sleep(3 * HOUR)
    assert world.stalled("also") == "InvalidSpec"
    assert len([name for name in began(world) if name.startswith("hourly")]) == 4


async def test_expired_snapshots_are_deleted_and_those_of_others_stay() -> None:
    world = world_with(retention={"maxCount": 2})
    index = {"logs-1": ModelIndex(1, 1)}
    theirs = {"stateward.dev/search-snapshot-schedule": "prod/hourly", "stateward.dev/cluster-uuid": "another"}
    stored = world.database.snapshots.repositories["files"]
    stored["hourly-202001010000"] = ModelSnapshot("hourly-202001010000", "u", 1.0, 2.0, "SUCCESS", theirs, index)
    async with world.operator():
        await asyncio.sleep(5 * HOUR + 120)
    assert sorted(stored) == ["hourly-202001010000", *began(world)[-2:]]
    assert world.status("hourly")["count"] == 2


async def test_a_snapshot_of_another_database_with_the_name_is_left_alone() -> None:
    world = world_with()
    async with world.operator():
        await asyncio.sleep(60)
        name = f"hourly-{world.status('hourly')['nextScheduleTime'][:16].translate(str.maketrans('', '', '-T:'))}"
        stored = world.database.snapshots.repositories["files"]
        stored[name] = ModelSnapshot(name, "u", now(), now(), "SUCCESS", {}, {})
        await world.until(lambda: world.stalled("hourly") == "SnapshotExists", 2 * HOUR)
        await world.until(lambda: len(began(world)) == 1, 2 * HOUR)
    assert name in stored


async def test_a_start_that_is_refused_over_a_snapshot_of_others_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another client takes a snapshot of the name after the repository was listed."""
    world = world_with()
    stored = world.database.snapshots.repositories["files"]

    async def refuse(_: object, request: Request) -> None:
        name = request.path.rpartition("/")[2]
        stored[name] = ModelSnapshot(name, "u", now(), now(), "SUCCESS", {}, {})
        raise RefusedError(f"a snapshot {name} exists", 400)

    monkeypatch.setattr(schedule, "send", refuse)
    async with world.operator():
        await world.until(lambda: stored, 2 * HOUR)
        await world.until(lambda: "Refused" in world.told(), 60)
    assert "lastFailure" in world.status("hourly")


async def test_a_paused_schedule_takes_and_deletes_nothing_and_is_never_overdue() -> None:
    world = world_with(retention={"maxCount": 1})
    async with world.operator():
        await asyncio.sleep(HOUR + 120)
        world.declare("hourly", paused=True)
        await asyncio.sleep(5 * HOUR)
        assert len(began(world)) == 1
        assert world.stalled("hourly") == "Paused"
        assert series(world, "stateward_snapshot_overdue_timestamp_seconds") is None
        world.declare("hourly", paused=False)
        await asyncio.sleep(120)
        assert len(began(world)) == 2


async def test_the_end_of_a_snapshot_is_in_the_status_also_if_its_schedule_is_paused_while_it_is_taken() -> None:
    """The schedule was looked at again an hour later."""
    world = world_with()
    async with world.operator():
        await world.until(lambda: world.status("hourly").get("started"), 2 * HOUR)
        world.declare("hourly", paused=True)
        await world.until(lambda: world.stalled("hourly") == "Paused", 5)
        assert f"{began(world)[0]} is being taken" in world.condition("Stalled", "hourly")["message"]
        await world.until(lambda: "SnapshotTaken" in world.told(), 120)
        assert not world.status("hourly").get("running")
        assert world.status("hourly")["lastSuccess"]["name"] == began(world)[0]
        assert world.stalled("hourly") == "Paused"
        version = world.store.version
        await asyncio.sleep(5 * HOUR)
        assert world.store.version == version


async def test_a_paused_schedule_has_no_next_time_and_its_status_is_not_written_again() -> None:
    world = world_with(paused=True)
    async with world.operator():
        await world.until(lambda: world.stalled("hourly") == "Paused")
        version = world.store.version
        await asyncio.sleep(5 * HOUR)
        assert world.store.version == version
    assert "nextScheduleTime" not in world.status("hourly")


async def test_snapshots_stay_and_series_go_with_the_schedule() -> None:
    world = world_with()
    async with world.operator():
        await asyncio.sleep(HOUR + 120)
        world.delete("hourly")
        await asyncio.sleep(60)
    assert not world.exists("hourly")
    assert len(world.database.snapshots.repositories["files"]) == 1
    assert series(world, "stateward_snapshot_last_success_timestamp_seconds") is None


async def test_snapshots_are_taken_while_nodes_run_several_versions_and_none_is_deleted() -> None:
    world = world_with(retention={"maxCount": 1})
    world.database.versions = ["2.19.3", "3.1.0"]
    async with world.operator():
        await asyncio.sleep(3 * HOUR + 120)
        assert len(began(world)) == len(world.database.snapshots.repositories["files"]) == 3
        world.database.versions = ["3.1.0"]
        await asyncio.sleep(HOUR)
    assert len(world.database.snapshots.repositories["files"]) == 1


async def test_failed_snapshots_do_not_pile_up_and_successful_ones_stay_meanwhile() -> None:
    world = world_with(retention={"maxCount": 3, "maxAge": "6h"})
    async with world.operator():
        await asyncio.sleep(2 * HOUR + 120)
        good = list(began(world))
        world.database.snapshots.fails = "PARTIAL"
        await asyncio.sleep(20 * HOUR)
        stored = sorted(world.database.snapshots.repositories["files"])
    assert stored == [*good, *began(world)[-3:]]
    assert len(good) == 2


async def test_a_repository_that_cannot_be_written_is_told_and_not_counted_as_no_answer() -> None:
    world = world_with()
    world.database.snapshots.readonly.add("files")
    async with world.operator():
        await world.until(lambda: world.stalled("hourly") == "RepositoryFails", 2 * HOUR)
        world.database.snapshots.readonly.clear()
        await world.until(lambda: began(world), HOUR / 2)


async def test_a_start_that_the_database_shows_late_is_no_failure() -> None:
    world = world_with()
    world.database.snapshots.late = 2
    async with world.operator():
        await asyncio.sleep(HOUR + 300)
    assert len(began(world)) == 1
    assert "lastFailure" not in world.status("hourly")
    assert series(world, "stateward_snapshot_failures_total") == 0


async def test_a_schedule_that_has_no_time_is_refused() -> None:
    world = world_with(schedule="0 0 31 2 *")
    async with world.operator():
        await world.until(lambda: world.stalled("hourly") == "InvalidSpec")
    assert "bad day-of-month" in world.status("hourly")["activity"]


async def test_a_schedule_is_overdue_for_an_operator_that_never_reached_the_database() -> None:
    world = world_with()
    world.reachable = False
    async with world.operator():
        await asyncio.sleep(3 * HOUR)
        overdue = series(world, "stateward_snapshot_overdue_timestamp_seconds")
    assert overdue is not None
    assert overdue < now()
