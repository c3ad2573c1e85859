"""The report of end-to-end cases: what a run leaves, what its page says, and what need not run again."""

import subprocess
from pathlib import Path
from typing import Literal

import pytest

from tests.support.case_report import FILE, PAGE, Case, Figures, Reporter, add, cases, commit_of, latest, page

Outcome = Literal["passed", "failed", "skipped"]
Phase = Literal["setup", "call", "teardown"]


def told(reporter: Reporter, name: str, *outcomes: Outcome, figures: dict[str, str] | None = None) -> None:
    """Report the phases of a case to a reporter, each of ten seconds."""
    phases: tuple[Phase, ...] = ("setup", "call", "teardown") if len(outcomes) == 3 else ("setup", "teardown")
    for phase, outcome in zip(phases, outcomes, strict=True):
        known = list((figures or {}).items()) if phase == "teardown" else []
        reporter.pytest_runtest_logreport(
            pytest.TestReport(name, (name, 1, name), {}, outcome, None, phase, user_properties=known, duration=10.0)
        )


def test_a_run_leaves_each_case_with_its_figures_and_a_page(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path, "c0de")
    figures = {"acknowledged": "1,200", "found": "1,200", "red seconds": "0"}
    told(reporter, "tests/e2e/a.py::test_b", "passed", "passed", "passed", figures=figures)
    told(reporter, "tests/e2e/a.py::test_a", "passed", "passed", "failed")
    told(reporter, "tests/e2e/a.py::test_c", "skipped", "passed")
    told(reporter, "tests/unit/a.py::test_d", "passed", "passed", "passed")
    reporter.pytest_sessionfinish()
    outcomes = {name: (case.outcome, case.seconds) for name, case in latest(tmp_path, "c0de").items()}
    assert outcomes == {
        "tests/e2e/a.py::test_b": ("passed", 30.0),
        "tests/e2e/a.py::test_a": ("failed", 30.0),
        "tests/e2e/a.py::test_c": ("skipped", 20.0),
    }
    lines = (tmp_path / PAGE).read_text().splitlines()
    assert lines[0] == "# End-to-end cases on commit c0de"
    assert lines[2] == "1 failed, 1 passed, 1 skipped; 1 minutes of cases"
    assert lines[-2] == "| tests/e2e/a.py::test_b | passed | 0 min 30 s |  | 1,200 | 1,200 |  | 0 |"
    assert len({line.count("|") for line in lines[4:]}) == 1


def test_only_the_last_result_on_the_same_commit_counts(tmp_path: Path) -> None:
    for commit, outcome in (("old", "passed"), ("new", "passed"), ("new", "failed"), ("", "passed")):
        add(tmp_path / FILE, Case("a", commit, outcome, 1.0))
    assert latest(tmp_path, "new")["a"].outcome == "failed"
    assert latest(tmp_path, "old")["a"].outcome == "passed"
    assert latest(tmp_path, "") == {}


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    add(tmp_path / FILE, Case("a", "c0de", "passed", 1.0))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"name": "b", "comm')
    assert [case.name for case in cases(tmp_path / FILE)] == ["a"]


def test_figures_of_all_witnesses_of_a_case_are_added_up() -> None:
    seen = Figures()
    assert seen.texts() == {}
    seen.written("logs", 1000, 2.5)
    seen.written("more", 500, 7.25)
    seen.read("logs", 1000)
    seen.read("more", 499)
    seen.watched(0)
    seen.watched(2)
    assert seen.texts() == {
        "acknowledged": "1,500",
        "found": "1,499",
        "longest without a write": "7.2 s",
        "red seconds": "2",
    }


def test_a_checkout_with_changes_has_no_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == ""
    words = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@localhost")
    subprocess.run((*words, "init", "-q"), check=True)
    (tmp_path / "file").write_text("one")
    subprocess.run((*words, "add", "-A"), check=True)
    subprocess.run((*words, "commit", "-q", "-m", "one"), check=True)
    assert len(commit_of(tmp_path)) == 40
    (tmp_path / "file").write_text("two")
    assert commit_of(tmp_path) == ""


def test_a_page_of_nothing_reports_it() -> None:
    assert "no case" in page({}, "c0de")
