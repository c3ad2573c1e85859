"""What the model keeps: data over zones, logs in generations, and what is lost when too many go."""

import ast
from pathlib import Path
from typing import Any

import stateward.simulation.foundationdb as model
from stateward.simulation.foundationdb.state import from_json, to_json
from tests.unit.simulation.foundationdb.town import Town


async def part(town: Town) -> Any:
    return (await town.status())["cluster"]


async def test_a_server_that_is_gone_for_long_has_its_data_made_again() -> None:
    town = await Town().made()
    town.ensemble.end("10.0.0.4:4500")
    town.now += 5
    assert (await part(town))["data"]["state"]["name"] == "healing"
    town.now += 40
    found = await part(town)
    assert found["full_replication"]
    assert found["fault_tolerance"]["max_zone_failures_without_losing_data"] == 1


async def test_one_that_comes_back_in_time_has_moved_nothing() -> None:
    town = await Town().made()
    assert town.ensemble.cluster is not None
    before = [list(shard.holders) for shard in town.ensemble.cluster.state.shards]
    town.ensemble.end("10.0.0.4:4500")
    town.now += 10
    town.start(4, "storage", "z1")
    town.now += 10
    assert [shard.holders for shard in town.ensemble.cluster.state.shards] == before


async def test_maintenance_keeps_the_data_of_its_zone_where_it_is() -> None:
    town = await Town().made()
    assert town.ensemble.cluster is not None
    before = [list(shard.holders) for shard in town.ensemble.cluster.state.shards]
    await town.run("maintenance on z1 120")
    town.ensemble.end("10.0.0.4:4500")
    town.now += 60
    await town.status()
    assert [shard.holders for shard in town.ensemble.cluster.state.shards] == before
    town.ensemble.end("10.0.0.5:4500")
    town.now += 60
    assert "maintenance_zone" not in await part(town)


async def test_a_new_server_is_given_data() -> None:
    town = await Town().made()
    town.start(12, "storage", "z0")
    town.now += 60
    processes = (await part(town))["processes"].values()
    new = next(p for p in processes if p["address"] == "10.0.0.12:4500")
    assert new["roles"][0]["stored_bytes"] > 0


async def test_a_log_that_is_gone_is_replaced_and_the_old_generation_is_needed_for_a_while() -> None:
    town = await Town().made()
    town.start(13, "log", "z0")
    town.now += 10
    town.ensemble.end("10.0.0.7:4500")
    town.now += 2.5
    found = await part(town)
    assert (found["recovery_state"]["active_generations"], found["database_available"]) == (2, True)
    town.now += 10
    found = await part(town)
    assert (found["recovery_state"]["active_generations"], found["recovery_state"]["name"]) == (1, "fully_recovered")


async def test_the_database_stops_when_the_only_logs_of_something_are_gone_and_goes_on_when_one_is_back() -> None:
    town = await Town().made()
    for number in (7, 8):
        town.ensemble.end(f"10.0.0.{number}:4500")
    town.now += 60
    found = await part(town)
    assert (found["database_available"], "data" in found) == (False, False)
    town.start(7, "log", "z1")
    town.now += 20
    assert (await part(town))["database_available"]


async def test_a_log_whose_disk_is_new_does_not_bring_back_what_it_held() -> None:
    town = await Town().made()
    for number in (7, 8):
        town.ensemble.end(f"10.0.0.{number}:4500")
    for number in (7, 8):
        town.start(number, "log", f"z{number % 3}", store=f"new-{number}")
    town.now += 60
    assert not (await part(town))["database_available"]


async def test_all_processes_at_once_may_be_restarted() -> None:
    town = await Town().made()
    everybody = dict(town.ensemble.processes)
    town.ensemble.killed = lambda _: None
    await town.run("kill; kill all")
    town.now += 3
    for number, (address, worker) in enumerate(everybody.items(), start=1):
        town.start(number, worker.kind, worker.zone)
        assert address in town.ensemble.processes
    town.now += 20
    found = await part(town)
    assert found["database_available"]
    assert found["full_replication"]


async def test_what_is_excluded_is_not_recruited_again() -> None:
    town = await Town().made()
    town.start(13, "log", "z0")
    await town.run("exclude no_wait locality_instance_id:log-8")
    town.now += 20
    processes = (await part(town))["processes"].values()
    assert not next(p for p in processes if p["address"] == "10.0.0.8:4500")["roles"]


async def test_data_moves_also_where_all_who_hold_it_are_excluded() -> None:
    town = await Town().made()
    await town.run("exclude no_wait " + " ".join(f"locality_instance_id:storage-{n}" for n in range(1, 5)))
    town.now += 600
    processes = (await part(town))["processes"].values()
    assert {p["address"] for p in processes if any(r["role"] == "storage" for r in p["roles"])} == {
        "10.0.0.5:4500",
        "10.0.0.6:4500",
    }


async def test_an_incompatible_upgrade_is_all_at_once() -> None:
    town = await Town().made()
    everybody = dict(town.ensemble.processes)
    for number, worker in enumerate(everybody.values(), start=1):
        town.ensemble.end(worker.address)
        town.start(number, worker.kind, worker.zone, version="7.3.63")
        if number == 1:
            town.now += 1
            assert (await part(town))["incompatible_connections"] == ["10.0.0.1:4500"]
    assert not (await town.status())["client"]["database_status"]["available"]
    town.client.version = "7.3.63"
    town.now += 20
    found = await part(town)
    assert found["database_available"]
    assert {p["version"] for p in found["processes"].values()} == {"7.3.63"}


async def test_a_long_time_in_which_nothing_happens_is_the_same_as_many_short_ones() -> None:
    """Whoever looks seldom sees the same as who looks often."""
    often, seldom = await Town().made(), await Town().made()
    for town in (often, seldom):
        await town.run("exclude no_wait locality_instance_id:storage-4")
    for _ in range(240):
        often.now += 0.5
        await often.status()
    seldom.now += 120
    states = [await part(town) for town in (often, seldom)]
    assert states[0] == states[1]


async def test_its_state_survives_being_written_down() -> None:
    town = await Town().made()
    assert town.ensemble.cluster is not None
    state = town.ensemble.cluster.state
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


ALLOWED = {"asyncio", "collections", "dataclasses", "itertools", "json", "re", "typing"}
