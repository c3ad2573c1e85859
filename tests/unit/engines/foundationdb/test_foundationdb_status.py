"""The content of FoundationDB's status, and above all its gaps."""

import json
from pathlib import Path
from typing import Any

import pytest

from stateward.engines.connection.base import GarbledError
from stateward.engines.foundationdb.database.exclusion import (
    allowed,
    excludable,
    removal_problem,
    replication_problem,
    unclear_data_problem,
)
from stateward.engines.foundationdb.database.members import view
from stateward.engines.foundationdb.database.picture import tolerance
from stateward.engines.foundationdb.database.status import Status, parse_status
from stateward.engines.foundationdb.spec.connection import (
    Address,
    ConnectionStringError,
    parse_address,
    parse_connection_string,
)

DATA = Path(__file__).parents[1] / "data/foundationdb"
HEALTHY = "status-sample-7.1.json"
UNREACHABLE = "status-sample-unreachable-process.json"


def sample(name: str, **cluster: Any) -> Status:
    """Return a recorded status, with parts of what the cluster says replaced."""
    document = json.loads((DATA / name).read_text(encoding="utf-8"))
    document["cluster"] |= cluster
    return parse_status(json.dumps(document))


def excluding(*names: str, roles: bool = False) -> Status:
    """Return the healthy status with members that are excluded, and (without `roles`) empty."""
    document = json.loads((DATA / HEALTHY).read_text(encoding="utf-8"))
    for process in document["cluster"]["processes"].values():
        if process["locality"]["instance_id"] in names:
            process["excluded"] = True
            process["roles"] = process["roles"] if roles else []
    return parse_status(json.dumps(document))


def keys(value: Any, path: str = "") -> set[str]:
    """Return the paths of a document; keys of maps are written as `*`."""
    if isinstance(value, list):
        return {found for item in value for found in keys(item, path)}
    if not isinstance(value, dict):
        return {path}
    return {found for key, inner in value.items() for found in keys(inner, f"{path}.{key}")}


@pytest.mark.parametrize("name", [HEALTHY, UNREACHABLE])
def test_a_real_status_is_read(name: str) -> None:
    status = sample(name)
    assert status.client.database_status is not None
    assert status.client.database_status.available
    assert status.cluster.recovery_state is not None
    assert status.cluster.recovery_state.active_generations == 1
    assert unclear_data_problem(status) is None
    assert replication_problem(status) is None


def test_every_path_that_is_read_is_in_the_schema_of_the_database() -> None:
    schema = json.loads((DATA / "status-schema.json").read_text(encoding="utf-8"))
    document = {"client": schema["client"], "cluster": schema["cluster"]}
    known = {path.replace(".$map", ".*").replace(".$enum", "") for path in keys(document)}
    read = {
        ".client.coordinators.quorum_reachable",
        ".client.coordinators.coordinators.reachable",
        ".client.database_status.available",
        ".cluster.processes.*.address",
        ".cluster.processes.*.excluded",
        ".cluster.processes.*.fault_domain",
        ".cluster.processes.*.under_maintenance",
        ".cluster.processes.*.version",
        ".cluster.processes.*.disk.free_bytes",
        ".cluster.processes.*.roles.role",
        ".cluster.processes.*.messages.name",
        ".cluster.data.team_trackers.state.min_replicas_remaining",
        ".cluster.data.moving_data.in_flight_bytes",
        ".cluster.logs.log_fault_tolerance",
        ".cluster.recovery_state.active_generations",
        ".cluster.configuration.excluded_servers.locality",
        ".cluster.fault_tolerance.max_zone_failures_without_losing_data",
        ".cluster.full_replication",
        ".cluster.maintenance_zone",
        ".cluster.messages.unreachable_processes.address",
    }
    assert read <= known, sorted(read - known)


DOCUMENT = '{"client": {}, "cluster": {}}'
ASIDE = "\nWARNING: Long delay (Ctrl-C to interrupt)\n"


@pytest.mark.parametrize(
    "text",
    [
        DOCUMENT,
        f"{ASIDE}{DOCUMENT}\n",
        f"{DOCUMENT}\n{ASIDE}",
        f"Using cluster file `/var/fdb/data/fdb.cluster'.\n{ASIDE}\nThe database is available.\n\n{DOCUMENT}",
    ],
)
def test_what_the_program_prints_beside_the_document_is_skipped(text: str) -> None:
    assert parse_status(text) == Status()


@pytest.mark.parametrize(
    "text",
    ["", ASIDE, "ERROR: timed out", '{"client": 1}', '{"client": {', f"something else\n{DOCUMENT}", DOCUMENT * 2],
)
def test_nothing_else_is_a_document(text: str) -> None:
    with pytest.raises(GarbledError):
        parse_status(text)


def test_an_empty_status_says_nothing_and_allows_nothing() -> None:
    empty = parse_status('{"client": {}, "cluster": {}}')
    assert view(empty, {}) is None
    assert "not available" in str(unclear_data_problem(empty))
    assert removal_problem(empty, None, "log-1", ()) is not None


@pytest.mark.parametrize("gone", ["processes", "messages", "recovery_state", "data", "logs", "full_replication"])
def test_each_part_that_is_missing_keeps_a_member_from_being_removed(gone: str) -> None:
    document = json.loads((DATA / HEALTHY).read_text(encoding="utf-8"))
    known = view(sample(HEALTHY), {})
    del document["cluster"][gone]
    assert removal_problem(parse_status(json.dumps(document)), known, "log-3", ()) is not None


@pytest.mark.parametrize(
    ("told", "borne"),
    [
        (None, 0),
        ({"max_zone_failures_without_losing_data": 2}, 0),
        ({"max_zone_failures_without_losing_availability": 2}, 0),
        ({"max_zone_failures_without_losing_data": 2, "max_zone_failures_without_losing_availability": 1}, 1),
    ],
)
def test_failures_that_the_status_does_not_say_to_be_borne_are_not_borne(
    told: dict[str, int] | None, borne: int
) -> None:
    document = json.loads((DATA / HEALTHY).read_text(encoding="utf-8"))
    document["cluster"]["fault_tolerance"] = told
    assert tolerance(parse_status(json.dumps(document))) == borne


def test_members_are_their_processes_together() -> None:
    seen = view(sample(UNREACHABLE), {})
    assert seen is not None
    storage = seen.members["storage-4"]
    assert storage.addresses == {"100.82.161.229:4500:tls", "100.82.161.229:4502:tls"}
    assert (storage.kind, storage.roles, storage.zone) == (
        "storage",
        {"storage"},
        "fdb-cluster-dfbv55sk-storage-4",
    )
    assert storage.versions == {"7.1.43"}
    assert 0 < storage.disk_free <= storage.disk_total


def test_an_unreachable_process_is_identified_by_its_known_address_and_else_unknown() -> None:
    status = sample(UNREACHABLE)
    nameless = view(status, {})
    assert nameless is not None
    assert nameless.strangers == {"100.82.115.41:4500:tls"}
    named = view(status, {"stateless-9": frozenset({"100.82.115.41:4500:tls"})})
    assert named is not None
    assert not named.strangers
    assert not named.members["stateless-9"].reached
    assert named.members["stateless-9"].roles == frozenset() or named.members["stateless-9"].roles is None


def test_a_member_without_a_process_is_not_gone_while_a_process_is_nobodys() -> None:
    status = sample(UNREACHABLE)
    assert "does not answer, and may belong to" in str(removal_problem(status, view(status, {}), "storage-99", ()))


def test_a_member_without_a_process_goes_only_when_it_is_excluded_by_name() -> None:
    status = sample(HEALTHY)
    assert "is not excluded" in str(removal_problem(status, view(status, {}), "storage-99", ()))
    listed = {"excluded_servers": [{"locality": "locality_instance_id:storage-99"}]}
    status = sample(HEALTHY, configuration=listed)
    assert removal_problem(status, view(status, {}), "storage-99", ()) is None
    status = sample(HEALTHY, configuration={})
    assert "the database does not list its exclusions" in str(
        removal_problem(status, view(status, {}), "storage-99", ())
    )


def test_an_excluded_member_goes_when_it_holds_nothing_and_is_no_coordinator() -> None:
    status = excluding("log-3")
    assert removal_problem(status, view(status, {}), "log-3", ()) is None
    assert "is a coordinator" in str(removal_problem(status, view(status, {}), "log-3", {"log-3"}))
    busy = excluding("log-3", roles=True)
    assert "still has the role log" in str(removal_problem(busy, view(busy, {}), "log-3", ()))
    assert "is not excluded" in str(removal_problem(sample(HEALTHY), view(sample(HEALTHY), {}), "log-3", ()))


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ({"recovery_state": {"name": "accepting_commits", "active_generations": 2}}, "has 2 generations"),
        ({"recovery_state": {"name": "fully_recovered"}}, "does not say how many generations"),
        ({"messages": [{"name": "full_replication_timeout", "description": "…"}]}, "full_replication_timeout"),
        ({"full_replication": False}, "not all data is replicated"),
        ({"data": {"team_trackers": [{"state": {"healthy": False, "name": "healing"}}]}}, "are healing"),
        ({"logs": [{"current": True, "log_replication_factor": 3, "log_fault_tolerance": 1}]}, "fewer failures"),
    ],
)
def test_what_speaks_against_removing_any_member(cluster: dict[str, Any], words: str) -> None:
    document = json.loads((DATA / HEALTHY).read_text(encoding="utf-8"))
    status = sample(HEALTHY, **{"processes": document["cluster"]["processes"], **cluster})
    assert words in str(removal_problem(status, view(status, {}), "log-3", ()))


def test_as_many_are_excluded_as_others_can_take_over_from() -> None:
    assert allowed(valid=10, desired=10, ongoing=0, fault_tolerance=2) == 2
    assert allowed(valid=10, desired=10, ongoing=3, fault_tolerance=2) == 0
    assert allowed(valid=12, desired=10, ongoing=1, fault_tolerance=2) == 3


def test_members_are_excluded_a_zone_at_a_time_and_none_while_another_may_be_on_its_way_back() -> None:
    seen = view(sample(HEALTHY), {})
    assert seen is not None
    assert excludable(seen.members, {"log-3", "log-2"}, 2, {}) == (("log-2",), "1 more wait until these are empty")
    now, why = excludable(seen.members, {"log-3"}, 2, {"log-4": 60.0})
    assert (now, "coming back" in str(why)) == ((), True)
    assert excludable(seen.members, {"log-3"}, 1, {"log-4": 400.0}) == (("log-3",), None)
    assert excludable(seen.members, {"log-3"}, 0, {})[0] == ()


@pytest.mark.parametrize("text", ["10.1.2.3:4500", "10.1.2.3:4501:tls", "[fd00::1]:4500", "[fd00::1]:4500:tls"])
def test_addresses_are_written_as_they_were_read(text: str) -> None:
    assert str(parse_address(text)) == text


@pytest.mark.parametrize("text", ["", "10.1.2.3", "10.1.2.3:tls", "fd00::1:4500", "10.1.2.3:99999", "a b:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConnectionStringError):
        parse_address(text)


def test_a_cluster_file_is_read_with_its_comments_and_written_again() -> None:
    read = parse_connection_string("# made by the database\nlogs_1:abC9@10.0.0.1:4500:tls,[fd00::1]:4501\n")
    assert read.coordinators == (Address("10.0.0.1", 4500, tls=True), Address("fd00::1", 4501))
    assert str(read) == "logs_1:abC9@10.0.0.1:4500:tls,[fd00::1]:4501"
    status = sample(HEALTHY)
    assert len(parse_connection_string(str(status.cluster.connection_string)).coordinators) == 3


@pytest.mark.parametrize("text", ["", "a@1.2.3.4:1", "a-b:c@1.2.3.4:1", "a:b@1.2.3.4:1,1.2.3.4:1", "a:b@x\na:b@y"])
def test_what_is_no_cluster_file_is_refused(text: str) -> None:
    with pytest.raises(ConnectionStringError):
        parse_connection_string(text)
