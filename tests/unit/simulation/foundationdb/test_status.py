"""The stand-in's status matches FoundationDB's own schema, and the driver's parser reads it."""

import json
from typing import Any

import pytest

from stateward.engines.foundationdb.database.exclusion import (
    blind_distribution_problem,
    removal_problem,
    replication_problem,
    unclear_data_problem,
)
from stateward.engines.foundationdb.database.members import view
from stateward.engines.foundationdb.database.status import parse_status
from tests.unit.simulation.foundationdb import schema
from tests.unit.simulation.foundationdb.model_processes import ModelProcesses


@pytest.mark.parametrize("name", ["status-sample-7.1.json", "status-sample-unreachable-process.json"])
def test_real_documents_differ_from_their_schema_in_nothing_but_classes(name: str) -> None:
    found = [p for p in schema.problems(schema.sample(name), schema.schema()) if "layers" not in p]
    assert not [p for p in schema.unusual(found) if p.split(" is not in")[0] not in KNOWN]


KNOWN = {
    ".cluster.configuration.blob_granules_enabled",
    ".cluster.configuration.tenant_mode",
}
"""Fields of version 7.1 that the schema of a later version lacks."""


async def every_state() -> dict[str, ModelProcesses]:
    """Return groups of processes, each with another trouble."""
    none, healthy = ModelProcesses(), await ModelProcesses().made()
    excluding = await ModelProcesses().made()
    await excluding.run("exclude no_wait locality_instance_id:storage-4 10.0.0.99:4500 10.0.0.98")
    recovering = await ModelProcesses().made()
    recovering.ensemble.end("10.0.0.7:4500")
    recovering.now += 2
    silent = await ModelProcesses().made()
    silent.ensemble.cut("10.0.0.5:4500")
    silent.now += 4
    broken = await ModelProcesses().made()
    for number in (7, 8):
        broken.ensemble.end(f"10.0.0.{number}:4500")
    broken.now += 5
    lost = await ModelProcesses().made()
    for number in (1, 2):
        lost.ensemble.end(f"10.0.0.{number}:4500")
    strange = await ModelProcesses().made()
    strange.start(20, "storage", "z1", version="7.3.63")
    maintained = await ModelProcesses().made()
    await maintained.run("maintenance on z1 60")
    off = await ModelProcesses().made()
    await off.run("datadistribution off")
    ignoring = await ModelProcesses().made()
    await ignoring.run("datadistribution disable ssfailure")
    return {
        "none": none,
        "healthy": healthy,
        "excluding": excluding,
        "recovering": recovering,
        "silent": silent,
        "broken": broken,
        "lost": lost,
        "strange": strange,
        "maintained": maintained,
        "without data distribution": off,
        "failures ignored": ignoring,
    }


async def test_its_status_is_one_of_the_schema_whatever_is_the_matter() -> None:
    for name, group in (await every_state()).items():
        found = schema.unusual(schema.problems(await group.status(), schema.schema()))
        assert not found, f"{name}: {found}"


async def test_its_healthy_status_has_all_that_decisions_are_made_from() -> None:
    group = await ModelProcesses().made()
    status = parse_status(json.dumps(await group.status()))
    assert unclear_data_problem(status) is None
    assert replication_problem(status) is None
    seen = view(status, {})
    assert seen is not None
    assert not seen.strangers
    assert seen.members["storage-1"].roles == {"coordinator", "storage"}
    assert seen.members["log-8"].roles == {"log"}
    assert seen.members["log-8"].zone == "z2"


async def test_a_silent_process_is_listed_without_its_locality_and_then_no_more() -> None:
    group = await ModelProcesses().made()
    group.ensemble.cut("10.0.0.5:4500")
    group.now += 4
    seen = view(parse_status(json.dumps(await group.status())), {"storage-5": frozenset({"10.0.0.5:4500"})})
    assert seen is not None
    assert not seen.members["storage-5"].reached
    group.now += 10
    seen = view(parse_status(json.dumps(await group.status())), {"storage-5": frozenset({"10.0.0.5:4500"})})
    assert seen is not None
    assert "storage-5" not in seen.members


@pytest.mark.parametrize(
    ("command", "field"),
    [
        ("datadistribution off", "data_distribution_disabled"),
        ("datadistribution disable ssfailure", "data_distribution_disabled_for_ss_failures"),
    ],
)
async def test_without_data_distribution_a_lost_server_is_not_missed_and_the_status_says_why(
    command: str, field: str
) -> None:
    group = await ModelProcesses().made()
    assert (await group.run(command))[0] == 0
    group.ensemble.cut("10.0.0.5:4500")
    group.now += 600
    document = await group.status()
    assert document["cluster"][field] is True
    assert (document["cluster"]["data"]["state"]["healthy"], unhealthy(document)) == (True, 0)
    assert blind_distribution_problem(parse_status(json.dumps(document))) is not None
    assert (await group.run("datadistribution on; datadistribution enable ssfailure"))[0] == 0
    assert blind_distribution_problem(parse_status(json.dumps(await group.status()))) is None
    seen = list[int]()
    for _ in range(70):
        group.now += 1
        seen.append(unhealthy(await group.status()))
    assert 1 in seen


def unhealthy(document: Any) -> int:
    """Return how many storage servers a status reports as unhealthy."""
    return document["cluster"]["data"]["team_trackers"][0]["unhealthy_servers"]


async def test_without_a_majority_of_coordinators_there_is_nothing_but_the_clients_part() -> None:
    group = await ModelProcesses().made()
    group.ensemble.end("10.0.0.1:4500")
    assert (await group.status())["client"]["database_status"]["available"]
    group.ensemble.end("10.0.0.2:4500")
    status = parse_status(json.dumps(await group.status()))
    assert view(status, {}) is None
    assert "not available" in str(unclear_data_problem(status))
    assert removal_problem(status, None, "storage-3", ()) is not None


async def test_while_logs_of_an_earlier_generation_are_needed_no_process_may_be_removed() -> None:
    group = await ModelProcesses().made()
    group.ensemble.end("10.0.0.7:4500")
    group.now += 2.5
    status = parse_status(json.dumps(await group.status()))
    assert "generations" in str(removal_problem(status, view(status, {}), "storage-4", ()))
