"""What real processes of 7.3.62 printed, and what the driver's pure part makes of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from stateward.engines.foundationdb.database.commands import Outcome, Printed, judge, not_empty_problem
from stateward.engines.foundationdb.database.driver import QUESTION
from stateward.engines.foundationdb.database.exclusion import (
    draining,
    present_problem,
    replication_problem,
    unclear_data_problem,
)
from stateward.engines.foundationdb.database.maintenance import is_own
from stateward.engines.foundationdb.database.members import view
from stateward.engines.foundationdb.database.picture import absent, silent
from stateward.engines.foundationdb.database.status import Status, parse_status
from stateward.planning.model.observation import Unformed, Unknown
from tests.unit.engines.foundationdb_model import Model, cluster
from tests.unit.simulation.foundationdb.model_processes import ModelProcesses

RECORDED = Path(__file__).parents[1] / "data/foundationdb/recorded-7.3.62"
TRANSCRIPTS: dict[str, dict[str, Any]] = {
    entry["label"]: entry for entry in json.loads((RECORDED / "transcripts.json").read_text(encoding="utf-8"))
}


def printed(label: str) -> Printed:
    entry = TRANSCRIPTS[label]
    return Printed(entry["code"], entry["output"])


def status(label: str) -> Status:
    return parse_status((RECORDED / f"{label}-status.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("label", "outcome"),
    [
        ("create", Outcome.DONE),
        ("create-again", Outcome.REFUSED),
        ("down-create", Outcome.GOES_ON),
        ("never-created-exclude", Outcome.GOES_ON),
        ("mark", Outcome.MATCHES_NOBODY),
        ("unmark", Outcome.DONE),
        ("exclude-coordinator", Outcome.GOES_ON),
        ("exclude-no-wait", Outcome.GOES_ON),
        ("exclude-proof", Outcome.DONE),
        ("exclude-proof-gone", Outcome.MATCHES_NOBODY),
        ("exclude-address-gone", Outcome.MISSING),
        ("exclude-tls", Outcome.REFUSED),
        ("include", Outcome.DONE),
        ("coordinators", Outcome.DONE),
        ("coordinators-same", Outcome.DONE),
        ("coordinators-unreachable", Outcome.REFUSED),
        ("configure-engine", Outcome.REFUSED),
        ("maintenance-on", Outcome.DONE),
        ("maintenance-off", Outcome.DONE),
        ("kill", Outcome.DONE),
        ("include-tls", Outcome.REFUSED),
        ("tls-exclude-proof", Outcome.DONE),
        ("tls-coordinators", Outcome.DONE),
        ("tls-coordinators-plain", Outcome.REFUSED),
        ("tls-kill", Outcome.DONE),
        ("tls-kill-refused", Outcome.REFUSED),
        ("uncertified-configure", Outcome.REFUSED),
        ("uncertified-exclude", Outcome.REFUSED),
        ("uncertified-kill", Outcome.REFUSED),
        ("uncertified-set", Outcome.REFUSED),
    ],
)
def test_the_outcome_of_each_command(label: str, outcome: Outcome) -> None:
    assert judge(printed(label))[0] is outcome


def test_a_long_output_without_sense_is_read_once() -> None:
    """One process in a pod could keep the operator from all other clusters for hours, with a megabyte of letters."""
    outcome, told = judge(Printed(1, "a" * (1 << 20)))
    assert (outcome, told) == (Outcome.REFUSED, "a" * 400)


def test_only_a_blocking_exclusion_that_names_its_targets_is_a_proof() -> None:
    assert not_empty_problem(printed("exclude-proof")) is None
    assert not_empty_problem(printed("exclude-address-gone")) is None
    assert not_empty_problem(printed("tls-exclude-proof")) is None
    for label in (
        "exclude-proof-gone",
        "exclude-no-wait",
        "mark",
        "never-created-exclude",
        "exclude-tls",
        "uncertified-exclude",
    ):
        assert not_empty_problem(printed(label)) is not None


@pytest.mark.parametrize("label", ["never-created-status", "down-status"])
def test_a_database_that_was_never_created_and_one_that_is_down_report_the_same(label: str) -> None:
    found = parse_status(TRANSCRIPTS[label]["output"])
    assert silent(found)
    assert TRANSCRIPTS[label]["seconds"] < QUESTION


async def test_the_stand_in_reports_the_same_of_both() -> None:
    group = ModelProcesses(version="7.3.62")
    before = group.now
    texts = [(await group.run("status json"))[1]]
    assert 30 <= group.now - before < 35
    await group.made()
    for number in (7, 8, 9):
        group.ensemble.end(f"10.0.0.{number}:4500")
    group.now += 60
    texts.append((await group.run("status json"))[1])
    for text in texts:
        found, real = json.loads(text), TRANSCRIPTS["down-status"]["output"]
        real = json.loads(real[real.index("{") :])
        assert found["cluster"] == real["cluster"]
        assert found["client"]["messages"] == real["client"]["messages"]
        assert found["client"]["database_status"] == real["client"]["database_status"]


def test_without_a_majority_of_coordinators_the_status_differs() -> None:
    found = parse_status(TRANSCRIPTS["no-quorum-status"]["output"])
    assert not silent(found)
    assert found.client.coordinators is not None
    assert found.client.coordinators.quorum_reachable is False


def test_a_healthy_database_is_complete() -> None:
    found = status("healthy")
    assert unclear_data_problem(found) is None
    assert replication_problem(found) is None
    seen = view(found, {})
    assert seen is not None
    assert len(seen.members) == 8
    assert all(member.reached for member in seen.members.values())
    assert not is_own(found)


def test_an_excluded_member_is_seen_to_be_emptied() -> None:
    before, after = view(status("excluding"), {}), view(status("excluded"), {})
    assert before is not None
    assert after is not None
    assert draining(status("excluding")) == {"storage-1"}
    assert draining(status("excluded")) == {"storage-3"}
    assert before.members["storage-1"].excluded
    assert present_problem(after.members["storage-3"]) is None


def test_a_process_that_ended_is_listed_without_its_locality_or_not_at_all() -> None:
    for label in ("excluded-silent", "excluded-gone"):
        seen = view(status(label), {"storage-3": frozenset({"10.0.0.1:45008"})})
        assert seen is not None
        assert "storage-3" not in seen.members or not seen.members["storage-3"].reached


@pytest.mark.parametrize("label", ["uncertified-status", "stranger-status"])
def test_a_database_that_does_not_trust_the_client_is_unknown_and_not_absent(label: str) -> None:
    """Otherwise the operator would create a database over one whose certificates do not fit."""
    found = absent(Model(cluster()).target(), parse_status(TRANSCRIPTS[label]["output"]))
    assert isinstance(found, Unknown)
    assert not isinstance(found, Unformed)


def test_processes_with_tls_are_listed_with_it() -> None:
    seen = view(status("tls"), {})
    assert seen is not None
    assert {address for member in seen.members.values() for address in member.addresses} == {
        f"10.0.0.1:4500{number}:tls" for number in (1, 2, 3, 4)
    }


def test_data_is_not_known_to_be_replicated_while_its_distribution_begins() -> None:
    """Such a database reports full replication, because that is said of regions, and nothing of its teams."""
    found = status("tls")
    assert found.cluster.full_replication is True
    assert unclear_data_problem(found) is None
    assert replication_problem(found) == "the database does not report whether all data is replicated"
