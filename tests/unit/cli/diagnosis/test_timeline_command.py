"""`timeline`: the history that the operator keeps, in a terminal, as a picture and for programs."""

import json
from pathlib import Path

from stateward.cli.shared.failures import ExitCode
from tests.unit.cli.diagnosis.objects import with_history
from tests.unit.cli.fake_api import FakeApi, Run


def test_each_member_is_a_row_with_the_letters_of_its_phases(run: Run, api: FakeApi) -> None:
    with_history(api)
    said = run("timeline", "logs").output
    rows = {line.split()[0]: line.split()[1] for line in said.splitlines() if len(line.split()) == 2}
    assert set(rows["logs-hot-1"]) == {"·", "U"}
    assert set(rows["health"]) <= {"g", "y"}
    assert " U  upgrade: restarts with another version" in said
    assert "2026-11-21 11:57 to 2026-11-21 12:00 UTC" in said


def test_programs_get_all_phases_with_begin_and_end(run: Run, api: FakeApi) -> None:
    with_history(api)
    found = json.loads(run("timeline", "logs", "--all", "-o", "json").output)
    upgrade = next(span for span in found["spans"] if span["subject"] == "logs-hot-1")
    assert upgrade | {"reason": ""} == {
        "subject": "logs-hot-1",
        "phase": "upgrade",
        "startTime": "2026-11-21T11:59:40Z",
        "endTime": None,
        "reason": "",
    }
    assert [band["name"] for band in found["bands"]] == ["health", "writes"]
    assert {"name": "logs-hot-0", "pool": "hot"} in found["members"]
    assert run("timeline", "logs", "-o", "name").output == "opensearchcluster.stateward.dev/logs\n"


def test_a_picture_is_written_to_a_file(run: Run, api: FakeApi, tmp_path: Path) -> None:
    with_history(api)
    page, picture = tmp_path / "a.html", tmp_path / "a.svg"
    said = run("timeline", "logs", "--html", str(page), "--svg", str(picture))
    assert said.exit_code == 0
    assert "2026-11-21 12:00 UTC" in said.output
    assert page.read_text().startswith("<!doctype html>")
    assert picture.read_text().startswith("<svg ")


def test_without_a_stored_history_the_status_is_shown_and_said_so(run: Run, api: FakeApi) -> None:
    said = run("timeline", "logs")
    assert "the operator has stored no history of it yet" in said.stderr
    assert "logs-hot-1" in said.output
    api.denied = {"configmaps"}
    assert "you may not get ConfigMaps in its namespace" in run("timeline", "logs").stderr


def test_the_history_of_an_earlier_cluster_of_the_name_is_not_shown(run: Run, api: FakeApi) -> None:
    with_history(api)
    for (plural, key), document in api.objects.items():
        if (plural, key.name) == ("configmaps", "logs-history"):
            document["metadata"]["ownerReferences"][0]["uid"] = "another"
    assert "the stored history is not of this cluster" in run("timeline", "logs").stderr


def test_a_period_that_is_none_is_a_usage_error(run: Run) -> None:
    said = run("timeline", "logs", "--since", "yesterday")
    assert said.exit_code == ExitCode.USAGE
    assert "is not a span of time such as 90s, 30m or 1h30m" in said.stderr
