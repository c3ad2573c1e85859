"""What is exported follows from the status: each value is there, in base units, and an unknown one is not."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.engines.connection.decoding import decoded
from stateward.engines.foundationdb.database.status import document
from stateward.exporter.foundationdb import catalog
from stateward.exporter.foundationdb.translation import MOST_PROCESSES, problem, status_samples
from stateward.exporter.metric import PREFIX
from stateward.exporter.samples import Sample
from tests.unit.exporter.damage import GARBAGE, MISSING, damage, places
from tests.unit.exporter.foundationdb.recordings import LABELS, NAMES, TRANSCRIPTS, WHOSE, recorded, sample

STORAGE = (*LABELS, "storage", "ledger-storage-0", "1")
LOG = (*LABELS, "log", "ledger-log-0", "1")
BESIDE = {catalog.UP, catalog.DURATION, catalog.AGE, catalog.BUILD}
"""Metrics that are not from the status."""
OF_THE_DATA = {
    f"{PREFIX}{name}"
    for name in (
        "data_healthy",
        "key_value_bytes",
        "moved_data_bytes_total",
        "moving_data_bytes",
        "partition_bytes",
        "partitions",
        "replicas_remaining",
    )
}
"""Metrics that the database does not tell while the distribution of its data begins: unknown, rather than zero."""


def samples(found: Any) -> list[Sample]:
    return [*status_samples(found, WHOSE)]


def values(found: list[Sample]) -> dict[tuple[str, ...], float]:
    return {(each.metric.name.removeprefix(PREFIX), *each.labels): each.value for each in found}


def process_of(found: dict[str, Any], member: str) -> dict[str, Any]:
    return next(p for p in found["cluster"]["processes"].values() if p["locality"]["instance_id"] == member)


def transcript(label: str) -> dict[str, Any]:
    return decoded(dict[str, Any], document(TRANSCRIPTS[label]["output"]), "it cannot be read:")


@pytest.mark.parametrize("name", NAMES)
def test_real_statuses_have_every_metric(name: str) -> None:
    found = samples(recorded(name))
    absent = {each.name for each in catalog.METRICS} - {each.metric.name for each in found}
    unsaid = {each.name for each in BESIDE} | {f"{PREFIX}process_degraded"}
    begins = recorded(name)["cluster"]["data"]["state"]["name"] == "initializing"
    assert absent == unsaid | (OF_THE_DATA if begins else set())
    assert len({(each.metric.name, each.labels) for each in found}) == len(found)
    processes = len(recorded(name)["cluster"]["processes"])
    assert len(found) < 120 + 45 * processes
    assert problem(recorded(name), WHOSE) == ""


@pytest.mark.parametrize("name", ["7.1", "unreachable-process"])
def test_statuses_of_7_1_have_them_too(name: str) -> None:
    found = {each.metric.name.removeprefix(PREFIX) for each in samples(sample(name))}
    assert {"available", "worst_queue_bytes", "storage_stored_bytes", "log_queue_disk_used_bytes"} <= found


def test_values_are_in_base_units_and_say_what_the_database_says() -> None:
    status = recorded("healthy")
    cluster, storage = status["cluster"], process_of(status, "ledger-storage-0")
    found = values(samples(status))
    assert found["available", *LABELS] == found["healthy", *LABELS] == found["quorum_reachable", *LABELS] == 1
    assert found["coordinators", *LABELS] == found["coordinators_reachable", *LABELS] == 3
    assert found["recovery_state", *LABELS, "fully_recovered"] == 1
    assert found["recovery_state", *LABELS, "accepting_commits"] == 0
    assert found["data_state", *LABELS, "healthy"] == 1
    assert found["performance_limited", *LABELS, "workload"] == 1
    assert sum(value for key, value in found.items() if key[0] == "performance_limited") == 1
    assert found["tolerated_zone_failures", *LABELS, "data"] == 1
    assert found["replicas_remaining", *LABELS] == 2
    assert found["moving_data_bytes", *LABELS, "queued"] == 0
    committed = cluster["workload"]["transactions"]["committed"]["counter"]
    assert found["transactions_committed_total", *LABELS] == committed > 0
    assert found["probe_seconds", *LABELS, "commit"] == cluster["latency_probe"]["commit_seconds"]
    assert found["worst_queue_bytes", *LABELS, "log"] == cluster["qos"]["worst_queue_bytes_log_server"]
    assert found["processes", *LABELS] == 8
    assert found["process_info", *STORAGE, "storage", "7.3.62", "coordinator,storage"] == 1
    megabits = storage["network"]["megabits_sent"]["hz"]
    assert found["network_sent_bytes_per_second", *STORAGE] == pytest.approx(megabits * 125000)
    assert found["process_memory_resident_bytes", *STORAGE] == storage["memory"]["rss_bytes"]
    assert found["storage_durability_lag_seconds", *STORAGE] == pytest.approx(5, abs=1)
    assert found["log_queue_disk_used_bytes", *LOG] == 258048
    assert ("storage_stored_bytes", *LOG) not in found


def test_a_database_under_load_shows_its_work() -> None:
    found = values(samples(recorded("loaded")))
    assert found["writes_total", *LABELS] > 300
    assert found["written_bytes_total", *LABELS] > 10_000
    assert found["storage_mutations_total", *STORAGE] > 300
    assert found["process_info", *STORAGE, "storage", "7.3.62", ROLES] == 1


ROLES = ",".join(sorted({role["role"] for role in process_of(recorded("loaded"), "ledger-storage-0")["roles"]}))


def test_an_excluded_process_is_counted_and_marked() -> None:
    found = values(samples(recorded("excluded")))
    assert found["processes_excluded", *LABELS] == 1
    assert found["process_excluded", *LABELS, "storage", "ledger-storage-3", "1"] == 1
    assert found["process_excluded", *STORAGE] == 0


def test_a_process_that_is_not_reached_is_counted_and_has_no_series() -> None:
    found = values(samples(sample("unreachable-process")))
    assert found["processes_unreachable", *LABELS] == 1
    assert found["processes", *LABELS] == 25


@pytest.mark.parametrize("label", ["down-status", "never-created-status"])
def test_a_database_that_is_down_is_known_to_be_down_and_nothing_else_is(label: str) -> None:
    status = transcript(label)
    found = values(samples(status))
    assert found["available", *LABELS] == 0
    assert found["quorum_reachable", *LABELS] == 1
    assert {key[0] for key in found} == {
        *("available", "healthy", "quorum_reachable", "coordinators", "coordinators_reachable"),
    }
    assert problem(status, WHOSE) == "the database reports nothing about itself: Timed out fetching cluster status."


def test_after_a_recovery_the_newer_log_of_a_process_counts() -> None:
    status = recorded("healthy")
    roles = process_of(status, "ledger-log-0")["roles"]
    old = {**roles[0], "data_version": 1, "queue_disk_used_bytes": 7}
    process_of(status, "ledger-log-0")["roles"] = [old, *roles, old]
    assert values(samples(status)) == values(samples(recorded("healthy")))


def test_the_status_of_another_database_has_no_values() -> None:
    status = recorded("healthy")
    for other in ("others:first@10.0.0.1:4500", "", "nonsense", 5, ["x"]):
        status["cluster"]["connection_string"] = other
        assert samples(status) == []
        assert problem(status, WHOSE)


def test_a_name_that_is_not_on_the_list_is_none_of_those() -> None:
    status = recorded("healthy")
    for name in ("gremlins", None, 1, ["workload"], {}):
        status["cluster"]["qos"]["performance_limited_by"]["name"] = name
        status["cluster"]["recovery_state"]["name"] = name
        status["cluster"]["data"]["state"]["name"] = name
        names = {each.metric.name for each in samples(status)}
        assert not names & {each.name for each in (catalog.LIMITED, catalog.RECOVERY_STATE, catalog.DATA_STATE)}


def test_what_a_process_says_of_itself_is_not_trusted() -> None:
    status = recorded("healthy")
    locality = process_of(status, "ledger-storage-0")["locality"]
    for instance, process in (
        ("", "-1"),
        ("x" * 300, f"{'x' * 300}-1"),
        ("two\nlines", "two\nlines-1"),
        ("ledger-storage-0", "ledger-storage-0-1e9"),
        ("ledger-storage-0", "ledger-storage-0-12345"),
        ("ledger-storage-0", "ledger-storage-0-\u0661"),
        ("ledger-storage-0", "other-1"),
        ("ledger-storage-1", "ledger-storage-1-1"),  # Another process is that, too: neither is known to be it.
        (5, {}),
    ):
        locality["instance_id"], locality["process_id"] = instance, process
        found = samples(status)
        assert not any(each.labels[4:5] == ("ledger-storage-0",) for each in found)
        assert all(label.isprintable() and len(label) < 254 for each in found for label in each.labels)
    nodes = {each.labels[4] for each in samples(status) if len(each.labels) > 4 and each.metric is catalog.INFO}
    assert "ledger-storage-2" in nodes


def test_the_number_of_processes_and_roles_is_bounded() -> None:
    status = recorded("healthy")
    one = process_of(status, "ledger-log-0")
    many = {
        str(i): {
            **one,
            "locality": {"instance_id": f"ledger-log-{i}", "process_id": f"ledger-log-{i}-1"},
            "class_type": "log" * 100,
            "roles": [{"role": f"r{n}" * 40} for n in range(100)],
        }
        for i in range(MOST_PROCESSES + 500)
    }
    status["cluster"]["processes"] = many
    found = samples(status)
    infos = [each for each in found if each.metric is catalog.INFO]
    assert len(infos) == MOST_PROCESSES
    assert all(each.labels[6] == "" for each in infos)
    assert max(len(each.labels[8]) for each in infos) < 33 * 65


STATUSES = [recorded("healthy"), recorded("excluded-silent"), sample("unreachable-process")]
WAYS = [list(places(each)) for each in STATUSES]
DERIVED = {
    *("process_info", "process_messages", "incompatible_connections", "processes", "processes_unreachable"),
    *("processes_excluded", "coordinators", "coordinators_reachable", "recovery_state", "data_state"),
    *("performance_limited", "batch_performance_limited"),
}
"""Metrics that follow from several fields, or from texts and lists."""


@given(st.data())
def test_missing_and_garbled_fields_of_a_status_never_raise_and_never_become_a_value(data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(STATUSES) - 1))
    original = values(samples(STATUSES[index]))
    damaged: Any = copy.deepcopy(STATUSES[index])
    for way in data.draw(st.lists(st.sampled_from(WAYS[index]), min_size=1, max_size=6)):
        damaged = damage(damaged, way, data.draw(GARBAGE | st.just(MISSING)))
    found = samples(damaged)
    assert len({(each.metric.name, each.labels) for each in found}) == len(found)
    for key, value in values(found).items():
        assert value >= 0
        truth = key[0] in TRUTHS and value in (0, 1)  # Garbage may be true or false.
        if key[0] not in DERIVED and not truth:
            known = original.get(key)
            # A garbled name of a process moves its values to other labels, but makes none.
            assert known == value or (known is None and value in original.values())
    problem(damaged, WHOSE)


TRUTHS = {each.name.removeprefix(PREFIX) for each in catalog.METRICS if each.truth}
