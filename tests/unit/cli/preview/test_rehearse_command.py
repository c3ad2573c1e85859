"""`rehearse` plays a change many times, reads as `plan` does, and sends nothing."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.cli.preview import rehearse
from stateward.cli.preview.inputs import PlanInputs
from stateward.cli.preview.pacing import ASSUMED_GROW_SPREAD, ASSUMED_REOPEN_SPREAD, ASSUMED_SPREAD, Pacing
from stateward.cli.preview.preview import Preview, preview
from stateward.cli.reference.shapes import SHAPES
from stateward.cli.shared.failures import ExitCode
from stateward.planning.model.observation import Database
from stateward.simulation.rehearsal.timings import Spread
from tests.unit.cli.clusters import units
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.preview import test_plan_command
from tests.unit.cli.preview.test_plan_command import CHANGED
from tests.unit.cli.test_output_forms import missing, undocumented
from tests.unit.simulation.rehearsal.foundationdb import samples as foundationdb

running = test_plan_command.running
UPGRADE = CHANGED % "2.19.5"


def played(run: Run, *words: str, stdin: str = UPGRADE) -> Any:
    return run("rehearse", "-f", "-", "--runs", "6", "-j", "1", *words, stdin=stdin)


@pytest.fixture
def with_shards(running: FakeApi, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """The same cluster, whose database reports its shards."""
    read = rehearse.inputs

    def inputs(*where: Any, **target: str) -> tuple[PlanInputs, Preview, float]:
        found, planned, now = read(*where, **target)
        database = replace(found.observed.database, units=units(2))
        return PlanInputs(found.cluster, replace(found.observed, database=database), (), (), exists=True), planned, now

    monkeypatch.setattr(rehearse, "inputs", inputs)
    return running


def test_a_change_is_played_without_touching_anything(run: Run, with_shards: FakeApi) -> None:
    result = played(run)
    assert "2.17.1 → 2.19.5" in result.output
    assert "6 runs, each with other timings and one fault of a node, a disk or the network" in result.output
    for part in ("DURATION", "without a second copy", "HURTS MOST", "WORST RUN: seed", "logs-hot-0", "health"):
        assert part in result.output
    assert result.output.endswith("nothing was changed\n")
    assert with_shards.patches == []


def test_the_documents_have_the_fields_of_the_reference(run: Run, with_shards: FakeApi) -> None:
    whole = json.loads(played(run, "-o", "json").output)
    one = json.loads(played(run, "--seed", "2", "-o", "json").output)
    for document, shape in ((whole, SHAPES["rehearse"]), (one, SHAPES["rehearse --seed"])):
        assert undocumented(document, shape) == set()
        assert missing(document, shape) == set()


TOGETHER = 'name: logs, annotations: {"stateward.dev/restart-phase": schedule-coordinated}}'
SECURED = "security: {enabled: true}\n  version: 2.17.1"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("name: logs}", TOGETHER, id="all restarted together"),
        pytest.param("version: 2.17.1", SECURED, id="security switched on"),
        pytest.param("size: 20Gi", "size: 30Gi", id="volumes grow"),
    ],
)
def test_each_kind_of_change_can_be_rehearsed(run: Run, with_shards: FakeApi, before: str, after: str) -> None:
    manifest = CHANGED % "2.17.1"
    assert before in manifest
    for (plural, _), stored in with_shards.objects.items():
        if plural == "persistentvolumeclaims":
            stored["spec"]["storageClassName"] = "fast"
    with_shards.add("storageclasses", {"metadata": {"name": "fast"}, "allowVolumeExpansion": True})
    result = played(run, "--faults", "none", "-o", "json", stdin=manifest.replace(before, after))
    assert result.exit_code == ExitCode.SUCCESS
    document = json.loads(result.output)
    assert document["completed"] == 6
    assert document["seconds"]["p50"] > 0


def test_a_plan_says_that_all_members_are_down_together(run: Run, running: FakeApi) -> None:
    said = run("plan", "-f", "-", stdin=(CHANGED % "2.17.1").replace("version: 2.17.1", SECURED)).output
    assert said.count("recreate  all at once") == 7
    assert "rolling" not in said


def test_a_seed_shows_its_run_again(run: Run, with_shards: FakeApi) -> None:
    worst = json.loads(played(run, "-o", "json").output)["worst"]
    again = played(run, "--seed", str(worst["seed"]), "-o", "json")
    assert json.loads(again.output) == worst
    assert f"run with seed {worst['seed']}" in played(run, "--seed", str(worst["seed"])).output


def test_without_faults_every_run_completes(run: Run, with_shards: FakeApi) -> None:
    result = played(run, "--faults", "none")
    assert result.exit_code == ExitCode.SUCCESS
    assert "completes in 6 of 6 runs" in result.output
    assert "HURTS MOST" not in result.output


def test_a_run_that_does_not_complete_ends_with_code_1(run: Run, with_shards: FakeApi) -> None:
    result = played(run, "--faults", "disk", "--runs", "20")
    assert result.exit_code == ExitCode.FAILURE
    assert "DOES NOT COMPLETE" in result.output
    assert "spec.replacement is not enabled" in result.output


def test_shards_that_are_not_known_are_not_counted_as_safe(run: Run, running: FakeApi) -> None:
    result = played(run)
    assert "refuse writes is not known: the database does not report its shards" in result.output
    assert "without a second copy" not in result.output
    document = json.loads(played(run, "-o", "json").output)
    assert (document["withoutSecondCopy"], document["runsWithLostShards"]) == (None, None)


def test_nothing_is_played_if_no_member_changes(run: Run, running: FakeApi) -> None:
    result = played(run, stdin=CHANGED % "2.17.1")
    assert (result.exit_code, result.output) == (0, "no member would change: there is nothing to rehearse\n")


def test_programs_read_the_same_fields_if_no_member_changes(run: Run, running: FakeApi) -> None:
    for words in ((), ("--seed", "7")):
        full = json.loads(played(run, *words, "-o", "json").output)
        empty = json.loads(played(run, *words, "-o", "json", stdin=CHANGED % "2.17.1").output)
        assert empty.keys() == full.keys()
        assert (empty.get("runs", 0), empty["mostDown"], empty.get("worst")) == (0, 0, None)


def test_a_change_that_is_refused_is_not_played(run: Run, running: FakeApi) -> None:
    result = played(run, stdin=CHANGED % "2.11.0")
    assert result.exit_code == ExitCode.FAILURE
    assert "does not complete even without a fault, see `plan`: 2.11.0 is older than 2.17.1" in result.stderr


def test_a_cluster_that_does_not_exist_is_not_played(run: Run, api: FakeApi) -> None:
    result = played(run, "-n", "elsewhere")
    assert "the cluster does not exist yet" in result.stderr


Edited = Callable[..., None]
"""Sets what the commands read of a FoundationDB cluster: an edit of its spec, and what its database reports."""


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch, api: FakeApi) -> Edited:
    """A FoundationDB cluster whose database reports its processes and its data."""

    def edited(reported: Database | None = None, **spec: Any) -> None:
        after = foundationdb.cluster(**spec)
        desired = replace(foundationdb.wanted(after), template_revision=1)
        before = foundationdb.running()
        start = replace(before, desired=desired, database=reported or before.database)

        def inputs(*_: Any, **__: str) -> tuple[PlanInputs, Preview, float]:
            found = PlanInputs(after, start, (), (), exists=True)
            return found, preview(start, foundationdb.START), foundationdb.START

        monkeypatch.setattr(rehearse, "inputs", inputs)

    return edited


def test_foundationdb_is_played_by_its_own_rules_and_in_its_own_words(run: Run, ledger: Edited, api: FakeApi) -> None:
    ledger(version="7.1.67")
    result = run("rehearse", "ledger", "--runs", "6", "-j", "1")
    for part in (
        "7.1.57 → 7.1.67",
        "TEAMS",
        "without a second copy",
        "the database refuses writes",
        "HURTS MOST",
        "WORST RUN: seed",
        "ledger-storage-",
        "any fault domains may share data (a team)",
    ):
        assert part in result.output
    assert "shard" not in result.output
    assert result.output.endswith("nothing was changed\n")
    assert api.patches == []


def test_the_documents_of_foundationdb_have_the_fields_of_the_reference(run: Run, ledger: Edited) -> None:
    ledger(version="7.1.67")
    whole = json.loads(run("rehearse", "ledger", "--runs", "6", "-j", "1", "-o", "json").output)
    one = json.loads(run("rehearse", "ledger", "--seed", str(whole["worst"]["seed"]), "-o", "json").output)
    assert one == whole["worst"]
    for document, shape in ((whole, SHAPES["rehearse"]), (one, SHAPES["rehearse --seed"])):
        assert undocumented(document, shape) == set()
        assert missing(document, shape) == set()
    assert whole["withoutSecondCopy"]["runs"] == 6
    assert whole["refusedWrites"]["runs"] == 6
    assert any("16 MiB/s" in source for source in whole["restsOn"])


def test_the_duration_without_a_fault_is_that_of_foundationdb_with_its_data(run: Run, ledger: Edited) -> None:
    ledger(version="7.1.67")
    quiet = json.loads(run("rehearse", "ledger", "--runs", "1", "--faults", "none", "-o", "json").output)
    assert quiet["completed"] == 1
    assert quiet["plannedSeconds"] > 0
    assert quiet["worst"]["lostShards"] == 0


def test_another_redundancy_is_played_though_no_member_changes(run: Run, ledger: Edited) -> None:
    database = foundationdb.running().database
    assert isinstance(database, Database)
    wanted = "its redundancy is double, and triple is desired"
    ledger(replace(database, pending_settings=wanted), redundancy="triple")
    found = json.loads(run("rehearse", "ledger", "--runs", "1", "--faults", "none", "-o", "json").output)
    assert (found["completed"], found["mostDown"]) == (1, 0)
    # Five GiB more in the database, at 16 MiB/s.
    assert found["plannedSeconds"] > 60.0 + 2.5 * 1024 / 16


def test_what_foundationdb_does_not_report_is_not_known_in_the_result(run: Run, ledger: Edited) -> None:
    database = foundationdb.running().database
    assert isinstance(database, Database)
    silent = {name: replace(node, duties=None) for name, node in database.nodes.items()}
    ledger(replace(database, nodes=silent), version="7.1.67")
    words = ("rehearse", "ledger", "--runs", "3", "-j", "1", "--faults", "network")
    result = run(*words)
    assert "the database refuses writes is not known: it does not report its roles" in result.output
    assert "without a second copy" not in result.output
    document = json.loads(run(*words, "-o", "json").output)
    assert [document[name] for name in ("withoutSecondCopy", "withoutCopy", "refusedWrites")] == [None] * 3
    assert document["runsWithLostShards"] is None


def test_a_foundationdb_cluster_without_a_change_has_nothing_to_rehearse(run: Run, ledger: Edited) -> None:
    ledger()
    assert run("rehearse", "ledger").output == "no member would change: there is nothing to rehearse\n"


def test_foundationdb_whose_database_cannot_be_asked_says_so(run: Run, api: FakeApi) -> None:
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "FoundationDBCluster"}
    spec = {
        "version": "7.3.69",
        "pools": [{"name": "log", "processClass": "log", "replicas": 3, "storage": {"size": "1Gi"}}],
    }
    meta = {"name": "docs", "namespace": "default", "uid": "u", "resourceVersion": "1", "generation": 1}
    api.add("fdbclusters", {**head, "metadata": meta, "spec": spec, "status": {}})
    result = run("rehearse", "docs")
    assert result.exit_code == ExitCode.FAILURE
    assert "the change does not complete even without a fault, see `plan`" in result.stderr


def test_several_processes_give_the_same_result(run: Run, with_shards: FakeApi) -> None:
    assert played(run, "--runs", "10", "-j", "2").output == played(run, "--runs", "10", "-j", "1").output


def test_what_is_only_assumed_varies_more_than_what_was_measured() -> None:
    assumed = rehearse.spread_of(Pacing())
    assert (assumed.start, assumed.usual, assumed.reopen) == (Spread().start, ASSUMED_SPREAD, ASSUMED_REOPEN_SPREAD)
    assert assumed.grow == ASSUMED_GROW_SPREAD > Spread().grow
    measured = rehearse.spread_of(Pacing(start_spread=0.1, usual_spread=0.2, reopen_known=True, grow_known=True))
    assert (measured.start, measured.usual, measured.reopen) == (0.1, 0.2, Spread().reopen)
    assert measured.grow == Spread().grow
