"""What the stand-in's command line prints and how it ends, and what the driver's pure part makes of that."""

import pytest

from stateward.engines.foundationdb.database import commands
from stateward.engines.foundationdb.database.commands import Outcome, Printed, judge, not_empty_problem
from stateward.engines.foundationdb.spec.connection import parse_address
from tests.unit.simulation.foundationdb.model_processes import ModelProcesses

FIRST = parse_address("10.0.0.4:4500")


async def outcome(group: ModelProcesses, line: str, seconds: float = 60.0) -> Outcome:
    return judge(Printed(*await group.run(line, seconds)))[0]


async def test_a_database_is_made_once() -> None:
    group = ModelProcesses()
    make = commands.configure("double", "ssd-2", new=True)
    assert await outcome(group, commands.configure("double", "ssd-2")) is Outcome.REFUSED
    assert await outcome(group, make) is Outcome.DONE
    assert "already exists" in (await group.run(make))[1]
    assert await outcome(group, make) is Outcome.REFUSED
    group.now += 10
    assert await outcome(group, commands.configure("triple", "ssd-2")) is Outcome.DONE


async def test_another_storage_engine_is_refused() -> None:
    group = await ModelProcesses().made()
    code, text = await group.run("configure double ssd-redwood-1")
    assert (code, judge(Printed(code, text))[0]) == (1, Outcome.REFUSED)


LATE = "\nWARNING: Long delay (Ctrl-C to interrupt)\n\n{}\n\n"


@pytest.mark.parametrize(
    "how",
    [
        "The database is available.",
        "The database is available, but has issues (type 'status' for more information).",
        "The database is unavailable; type `status' for more information.",
        "Unable to determine database state, type 'status' for more information.",
    ],
)
def test_how_the_database_is_does_not_judge_a_command_that_took_long(how: str) -> None:
    assert judge(Printed(0, LATE.format(how)))[0] is Outcome.DONE
    refused = Printed(1, f"{LATE.format(how)}ERROR: Database already exists! To change configuration, don't say `new'")
    assert judge(refused) == (
        Outcome.REFUSED,
        "ERROR: Database already exists! To change configuration, don't say `new'",
    )
    assert judge(Printed(1, f"{LATE.format(how)}Specified timeout reached -- exiting...\n"))[0] is Outcome.GOES_ON
    assert judge(Printed(0, f"{LATE.format(how)}Unable to do that\n"))[0] is Outcome.REFUSED


async def test_a_blocking_exclusion_ends_when_the_data_has_moved_and_reports_it() -> None:
    group = await ModelProcesses().made()
    began = group.now
    printed = Printed(*await group.run(commands.exclude(["storage-4"], wait=True)))
    assert not_empty_problem(printed) is None
    assert group.now > began


async def test_its_time_is_up_and_the_data_continues_moving() -> None:
    group = await ModelProcesses().made()
    assert await outcome(group, commands.exclude(["storage-4"], wait=True), seconds=1.0) is Outcome.GOES_ON
    group.now += 30
    printed = Printed(*await group.run(commands.exclude(["storage-4"], wait=True), seconds=1.0))
    assert not_empty_problem(printed) is None


async def test_without_waiting_it_says_that_it_continues_and_later_that_it_is_done() -> None:
    group = await ModelProcesses().made()
    told = commands.exclude(["storage-4"], wait=False)
    assert await outcome(group, told) is Outcome.GOES_ON
    group.now += 30
    assert await outcome(group, told) is Outcome.DONE


@pytest.mark.parametrize(
    ("line", "code", "expected"),
    [
        ("exclude 10.0.0.4:4500:tls", 0, Outcome.REFUSED),
        ("exclude nonsense", 0, Outcome.REFUSED),
        ("include 10.0.0.4:4500:tls", 1, Outcome.REFUSED),
        ("exclude locality_instance_id:unknown", 0, Outcome.MATCHES_NOBODY),
        ("exclude 10.0.0.77:4500", 0, Outcome.MISSING),
        ("exclude no_wait 10.0.0.1:4500", 0, Outcome.GOES_ON),
        ("kill 10.0.0.4:4500", 1, Outcome.REFUSED),
        ("coordinators 10.0.0.4", 0, Outcome.REFUSED),
        ("coordinators 10.0.0.44:4500", 1, Outcome.REFUSED),
        ("nonsense; kill", 1, Outcome.REFUSED),
    ],
)
async def test_the_traps(line: str, code: int, expected: Outcome) -> None:
    group = await ModelProcesses().made()
    found, text = await group.run(line)
    assert (found, judge(Printed(found, text))[0]) == (code, expected), text


async def test_an_excluded_coordinator_is_named_as_one() -> None:
    group = await ModelProcesses().made()
    assert await outcome(group, commands.exclude(["storage-1"], wait=True)) is Outcome.COORDINATES


async def test_a_locality_that_matches_no_process_is_recorded_all_the_same() -> None:
    group = await ModelProcesses().made()
    await group.run("exclude locality_instance_id:storage-12")
    group.start(12, "storage", "z0")
    group.now += 20
    process = next(p for p in (await group.status())["cluster"]["processes"].values() if "10.0.0.12" in p["address"])
    assert process["excluded"]
    assert not process["roles"]


async def test_where_data_has_nowhere_to_go_it_stays() -> None:
    """Two servers hold two replicas: one of them can never be drained."""
    group = await ModelProcesses(storage=2, zones=2).made()
    assert await outcome(group, commands.exclude(["storage-1"], wait=True), seconds=600.0) is Outcome.GOES_ON


async def test_exclusions_are_refused_that_would_fill_the_disks() -> None:
    group = await ModelProcesses().made()
    for worker in group.ensemble.processes.values():
        worker.disk_free = worker.disk_total // 20
    assert await outcome(group, commands.exclude(["storage-4"], wait=False)) is Outcome.REFUSED
    assert await outcome(group, "exclude FORCE no_wait locality_instance_id:storage-4") is Outcome.GOES_ON


async def test_a_host_that_is_included_takes_its_ports_along() -> None:
    group = await ModelProcesses().made()
    await group.run("exclude no_wait 10.0.0.4:4500 10.0.0.44:4500 10.0.0.4")
    await group.run("include 10.0.0.4")
    assert (await group.run("exclude"))[1].splitlines()[1:] == ["  10.0.0.44:4500"]


async def test_kill_knows_what_it_has_listed_and_ends_all_at_once() -> None:
    group = await ModelProcesses().made()
    ended: list[str] = []
    group.ensemble.killed = ended.append
    assert await outcome(group, commands.kill([FIRST, parse_address("10.0.0.5:4500")])) is Outcome.DONE
    assert ended == ["10.0.0.4:4500", "10.0.0.5:4500"]


async def test_coordinators_change_and_those_of_before_lead_on() -> None:
    group = await ModelProcesses().made()
    before = group.client.file
    assert await outcome(group, "coordinators 10.0.0.4:4500 10.0.0.5:4500 10.0.0.6:4500") is Outcome.DONE
    assert group.client.file != before
    assert "No change" in (await group.run("coordinators 10.0.0.4:4500 10.0.0.5:4500 10.0.0.6:4500"))[1]
    group.client.file = before
    assert (await group.status())["client"]["database_status"]["available"] in {True, False}
    assert "10.0.0.4:4500" in group.client.file
    for number in (1, 2, 3):
        group.ensemble.end(f"10.0.0.{number}:4500")
    group.client.file = before
    assert not (await group.status())["client"]["coordinators"]["quorum_reachable"]


async def test_a_client_of_another_protocol_reaches_no_process() -> None:
    group = await ModelProcesses().made()
    group.client.version = "7.3.63"
    assert not (await group.status())["client"]["database_status"]["available"]
    assert (await group.run("exclude", 5.0))[0] == 1
    group.client.version = "7.1.57"
    assert (await group.status())["client"]["database_status"]["available"]


async def test_maintenance_is_of_one_zone_and_ends_by_itself() -> None:
    group = await ModelProcesses().made()
    await group.run(commands.maintenance("z1", 60))
    await group.run(commands.maintenance("z2", 60))
    assert (await group.status())["cluster"]["maintenance_zone"] == "z2"
    group.now += 61
    assert "maintenance_zone" not in (await group.status())["cluster"]
    assert "No ongoing" in (await group.run("maintenance"))[1]


async def test_maintenance_and_ignored_failures_exclude_each_other() -> None:
    """The database keeps both in one place."""
    group = await ModelProcesses().made()
    assert await group.run("datadistribution disable ssfailure") == (
        0,
        "Data distribution is disabled for storage server failures.\n",
    )
    code, text = await group.run(commands.maintenance("zone-1", 60))
    assert (code, text.startswith("ERROR: Maintenance mode cannot be used")) == (1, True)
    assert judge(Printed(code, text))[0] is Outcome.REFUSED
    assert (await group.run("datadistribution enable ssfailure"))[0] == 0
    assert (await group.run(commands.maintenance("zone-1", 60)))[0] == 0
    assert (await group.run("datadistribution sideways"))[0] == 1
