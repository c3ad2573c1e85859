"""The model: data across zones, logs in generations, and losses if too many processes fail."""

import ast
from pathlib import Path
from typing import Any

import stateward.simulation.foundationdb as model
from stateward.simulation.foundationdb.state import from_json, to_json
from tests.unit.simulation.foundationdb.model_processes import ModelProcesses

HEALTHY = {
    "primary": True,
    "in_flight_bytes": 0,
    "unhealthy_servers": 0,
    "state": {"healthy": True, "min_replicas_remaining": 1, "name": "healthy"},
}


async def part(group: ModelProcesses) -> Any:
    return (await group.status())["cluster"]


async def test_a_server_that_is_gone_for_long_has_its_data_recreated() -> None:
    group = await ModelProcesses().made()
    patience = group.ensemble.timing.patience
    group.ensemble.end("10.0.0.4:4500")
    group.now += patience + 1
    assert (await part(group))["data"]["state"]["name"] == "healing"
    group.now += 40
    found = await part(group)
    assert found["full_replication"]
    assert found["fault_tolerance"]["max_zone_failures_without_losing_data"] == 1


async def test_what_is_lost_is_not_reported_before_its_servers_count_as_failed() -> None:
    group = await ModelProcesses().made("single")
    group.ensemble.end("10.0.0.4:4500")
    group.now += group.ensemble.timing.patience - 1
    assert (await part(group))["data"]["team_trackers"][0] == HEALTHY
    group.now += 2
    found = (await part(group))["data"]["team_trackers"][0]
    assert (found["state"]["name"], found["unhealthy_servers"]) == ("missing_data", 1)


async def test_in_a_zone_in_maintenance_nothing_counts_as_lost_before_it_ends_and_then_it_takes_as_long_again() -> None:
    group = await ModelProcesses().made("single")
    patience = group.ensemble.timing.patience
    group.ensemble.end("10.0.0.4:4500")
    group.now += patience + 1
    assert not (await part(group))["full_replication"]
    await group.run("maintenance on z1 600")
    group.now += 590
    found = await part(group)
    team = found["data"]["team_trackers"][0]
    assert (team["state"]["healthy"], team["state"]["min_replicas_remaining"], team["unhealthy_servers"]) == (
        True,
        1,
        0,
    )
    assert found["fault_tolerance"]["max_zone_failures_without_losing_data"] == -1
    group.now += 10 + patience / 2
    found = await part(group)
    assert ("maintenance_zone" in found, found["full_replication"]) == (False, True)
    group.now += patience / 2 + 1
    assert not (await part(group))["full_replication"]


async def test_an_exclusion_by_locality_concerns_no_server_that_cannot_be_reached() -> None:
    group = await ModelProcesses().made("single")
    group.ensemble.end("10.0.0.4:4500")
    await group.run("exclude no_wait locality_instance_id:storage-4")
    assert (await part(group))["data"]["team_trackers"][0] == HEALTHY
    await group.run("exclude no_wait 10.0.0.4:4500")
    assert (await part(group))["data"]["team_trackers"][0]["unhealthy_servers"] == 1


async def test_maintenance_begins_also_while_a_server_of_another_zone_has_failed_already() -> None:
    group = await ModelProcesses().made("single")
    group.ensemble.end("10.0.0.4:4500")
    group.now += group.ensemble.timing.patience + 1
    await part(group)
    await group.run("maintenance on z2 600")
    group.now += 60
    assert (await part(group))["maintenance_zone"] == "z2"


async def test_one_that_comes_back_in_time_has_moved_nothing() -> None:
    group = await ModelProcesses().made()
    assert group.ensemble.cluster is not None
    before = [list(shard.holders) for shard in group.ensemble.cluster.state.shards]
    group.ensemble.end("10.0.0.4:4500")
    group.now += 10
    group.start(4, "storage", "z1")
    group.now += 10
    assert [shard.holders for shard in group.ensemble.cluster.state.shards] == before


async def test_maintenance_keeps_the_data_of_its_zone_where_it_is() -> None:
    group = await ModelProcesses().made()
    assert group.ensemble.cluster is not None
    before = [list(shard.holders) for shard in group.ensemble.cluster.state.shards]
    await group.run("maintenance on z1 120")
    group.ensemble.end("10.0.0.4:4500")
    group.now += 60
    await group.status()
    assert [shard.holders for shard in group.ensemble.cluster.state.shards] == before
    group.ensemble.end("10.0.0.5:4500")
    group.now += 60
    assert "maintenance_zone" not in await part(group)


async def test_a_new_server_is_given_data() -> None:
    group = await ModelProcesses().made()
    group.start(12, "storage", "z0")
    group.now += 60
    processes = (await part(group))["processes"].values()
    new = next(p for p in processes if p["address"] == "10.0.0.12:4500")
    assert new["roles"][0]["stored_bytes"] > 0


async def test_a_log_that_is_gone_is_replaced_and_the_old_generation_is_needed_for_a_while() -> None:
    group = await ModelProcesses().made()
    group.start(13, "log", "z0")
    group.now += 10
    group.ensemble.end("10.0.0.7:4500")
    group.now += 2.5
    found = await part(group)
    assert (found["recovery_state"]["active_generations"], found["database_available"]) == (2, True)
    group.now += 10
    found = await part(group)
    assert (found["recovery_state"]["active_generations"], found["recovery_state"]["name"]) == (1, "fully_recovered")


async def test_the_database_stops_when_the_only_logs_of_something_are_gone_and_continues_when_one_is_back() -> None:
    group = await ModelProcesses().made()
    for number in (7, 8):
        group.ensemble.end(f"10.0.0.{number}:4500")
    group.now += 60
    found = await part(group)
    assert not {"database_available", "configuration", "logs", "data"} & found.keys()
    group.start(7, "log", "z1")
    group.now += 20
    assert (await part(group))["database_available"]


async def test_a_log_whose_disk_is_new_does_not_bring_back_what_it_held() -> None:
    group = await ModelProcesses().made()
    for number in (7, 8):
        group.ensemble.end(f"10.0.0.{number}:4500")
    for number in (7, 8):
        group.start(number, "log", f"z{number % 3}", store=f"new-{number}")
    group.now += 60
    assert "database_available" not in await part(group)


async def test_all_processes_at_once_may_be_restarted() -> None:
    group = await ModelProcesses().made()
    everybody = dict(group.ensemble.processes)
    group.ensemble.killed = lambda _: None
    await group.run("kill; kill all")
    group.now += 3
    for number, (address, worker) in enumerate(everybody.items(), start=1):
        group.start(number, worker.kind, worker.zone)
        assert address in group.ensemble.processes
    group.now += 20
    found = await part(group)
    assert found["database_available"]
    assert found["full_replication"]


async def test_what_is_excluded_is_not_recruited_again() -> None:
    group = await ModelProcesses().made()
    group.start(13, "log", "z0")
    await group.run("exclude no_wait locality_instance_id:log-8")
    group.now += 20
    processes = (await part(group))["processes"].values()
    assert not next(p for p in processes if p["address"] == "10.0.0.8:4500")["roles"]


async def test_data_moves_also_where_all_who_hold_it_are_excluded() -> None:
    group = await ModelProcesses().made()
    await group.run("exclude no_wait " + " ".join(f"locality_instance_id:storage-{n}" for n in range(1, 5)))
    group.now += 600
    processes = (await part(group))["processes"].values()
    assert {p["address"] for p in processes if any(r["role"] == "storage" for r in p["roles"])} == {
        "10.0.0.5:4500",
        "10.0.0.6:4500",
    }


async def test_an_incompatible_upgrade_is_all_at_once() -> None:
    group = await ModelProcesses().made()
    everybody = dict(group.ensemble.processes)
    for number, worker in enumerate(everybody.values(), start=1):
        group.ensemble.end(worker.address)
        group.start(number, worker.kind, worker.zone, version="7.3.63")
        if number == 1:
            group.now += 1
            assert (await part(group))["incompatible_connections"] == ["10.0.0.1:4500"]
    assert not (await group.status())["client"]["database_status"]["available"]
    group.client.version = "7.3.63"
    group.now += 20
    found = await part(group)
    assert found["database_available"]
    assert {p["version"] for p in found["processes"].values()} == {"7.3.63"}


async def test_a_long_time_in_which_nothing_happens_is_the_same_as_many_short_ones() -> None:
    """The state does not depend on how often it is read."""
    often, seldom = await ModelProcesses().made(), await ModelProcesses().made()
    for group in (often, seldom):
        await group.run("exclude no_wait locality_instance_id:storage-4")
    for _ in range(240):
        often.now += 0.5
        await often.status()
    seldom.now += 120
    states = [await part(group) for group in (often, seldom)]
    assert states[0] == states[1]


async def test_its_state_survives_being_written_down() -> None:
    group = await ModelProcesses().made()
    assert group.ensemble.cluster is not None
    state = group.ensemble.cluster.state
    assert from_json(to_json(state)) == state


def test_it_needs_nothing_but_the_standard_library_and_reads_no_clock() -> None:
    """The same files are the programs of an image that has nothing else."""
    for file in Path(str(model.__file__)).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                own = name.startswith("stateward.simulation.foundationdb")
                assert own or name.partition(".")[0] in ALLOWED, f"{file.name} imports {name}"


ALLOWED = {"asyncio", "collections", "dataclasses", "functools", "itertools", "json", "math", "re", "typing"}
