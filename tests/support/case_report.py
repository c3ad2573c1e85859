"""The report of end-to-end cases: a file with one line for each finished case, and a page of all.

All cases take an hour, so an interrupted run can continue: cases that have passed on the same commit are left out.
"""

import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

FILE = "cases.jsonl"
PAGE = "report.md"
PLACE = "tests/e2e/"
"""Where the cases are; others are not reported."""
COLUMNS = ("versions", "acknowledged", "found", "longest without a write", "red seconds")
"""The figures of a case, in the order of the page."""


class Case(Struct, frozen=True):
    """One finished case."""

    name: str
    commit: str
    """The commit that was tested; empty if files differed from it."""
    outcome: str
    """`passed`, `failed` or `skipped`."""
    seconds: float
    figures: Mapping[str, str] = {}


class Figures:
    """The sums of the witnesses' observations of one case."""

    def __init__(self) -> None:
        self._acknowledged: Counter[str] = Counter()
        self._found: Counter[str] = Counter()
        self._longest = 0.0
        self._red: int | None = None

    def written(self, index: str, acknowledged: int, longest: float) -> None:
        """Note what a writer wrote, and its longest time without a write, in seconds."""
        self._acknowledged[index] = acknowledged
        self._longest = max(self._longest, longest)

    def read(self, index: str, found: int) -> None:
        """Note how many of the acknowledged documents of an index were found."""
        self._found[index] = found

    def watched(self, red: int) -> None:
        """Note seconds in which the database was red."""
        self._red = red + (self._red or 0)

    def texts(self) -> dict[str, str]:
        """Return the figures that are known, as they stand in the page."""
        texts: dict[str, str] = {}
        if self._acknowledged:
            texts["acknowledged"] = f"{self._acknowledged.total():,}"
            texts["longest without a write"] = f"{self._longest:.1f} s"
        if self._found:
            texts["found"] = f"{self._found.total():,}"
        if self._red is not None:
            texts["red seconds"] = str(self._red)
        return texts


class Reporter:
    """A plug-in of pytest: writes each finished case to a file, and at the end all cases of the commit as a page."""

    def __init__(self, folder: Path, commit: str) -> None:
        self._folder = folder
        self._commit = commit
        self._phases: dict[str, list[pytest.TestReport]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a phase of a case: its setup, the case itself, its end."""
        if not report.nodeid.startswith(PLACE):
            return
        self._phases.setdefault(report.nodeid, []).append(report)
        if report.when != "teardown":
            return
        phases = self._phases.pop(report.nodeid)
        outcome = next((o for o in ("failed", "skipped") if any(phase.outcome == o for phase in phases)), "passed")
        figures = {name: str(text) for name, text in report.user_properties}
        seconds = sum(phase.duration for phase in phases)
        add(self._folder / FILE, Case(report.nodeid, self._commit, outcome, seconds, figures))

    def pytest_sessionfinish(self) -> None:
        """Write the page."""
        found = latest(self._folder, self._commit)
        if found:
            (self._folder / PAGE).write_text(page(found, self._commit), encoding="utf-8")


def commit_of(root: Path) -> str:
    """Return the commit of a checkout; empty if its files differ from it, or it is none."""
    words = ("git", "-C", str(root))
    head = subprocess.run((*words, "rev-parse", "HEAD"), capture_output=True, text=True, check=False)
    changed = subprocess.run((*words, "status", "--porcelain"), capture_output=True, text=True, check=False)
    return "" if head.returncode or changed.returncode or changed.stdout.strip() else head.stdout.strip()


def add(file: Path, case: Case) -> None:
    """Write a finished case to the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out:
        out.write(msgspec.json.encode(case) + b"\n")


def cases(file: Path) -> Iterator[Case]:
    """Yield the cases in a file; a last line that was cut off is left out."""
    if not file.exists():
        return
    for line in file.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield msgspec.json.decode(line, type=Case)


def latest(folder: Path, commit: str) -> dict[str, Case]:
    """Return the last result of each case on a commit, by name; none for an unknown commit."""
    return {case.name: case for case in cases(folder / FILE) if commit and case.commit == commit}


def page(found: Mapping[str, Case], commit: str) -> str:
    """Return the report as a page: a line of totals, and a table with one row for each case."""
    totals = Counter(case.outcome for case in found.values())
    told = ", ".join(f"{number} {outcome}" for outcome, number in sorted(totals.items())) or "no case"
    minutes = sum(case.seconds for case in found.values()) / 60
    rows = [
        " | ".join((f"| {name}", case.outcome, length(case.seconds), *(case.figures.get(c, "") for c in COLUMNS)))
        + " |"
        for name, case in sorted(found.items())
    ]
    header = " | ".join(("| case", "outcome", "duration", *COLUMNS)) + " |"
    line = "| --- " * (3 + len(COLUMNS)) + "|"
    top = (f"# End-to-end cases on commit {commit}", "", f"{told}; {minutes:.0f} minutes of cases", "")
    return "\n".join((*top, header, line, *rows, ""))


def row(*cells: str) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def length(seconds: float) -> str:
    """Return a duration as minutes and seconds."""
    return f"{int(seconds) // 60} min {int(seconds) % 60:02} s"
