"""The page that says which tests prove which guarantee names tests that there are, and all of them are kept."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/proofs.md"
ALL = Path(__file__).with_name("guarantees.toml")
"""Every test of each guarantee: the page names the first ones."""
SECTIONS = {"Restart control": 21, "Kept pods and security": 40, "Replacement and FoundationDB": 35, "Attackers": 25}
"""The least number of guarantees in each."""
NAMED = 340
"""The least number of tests that prove something."""


@pytest.fixture(scope="module")
def there() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in sources for name in re.findall(r"def (test_\w+)\(", text)}


@pytest.fixture(scope="module")
def proofs() -> dict[tuple[str, str], list[str]]:
    """Return all tests by the heading and the words of their guarantee."""
    listed: dict[str, dict[str, list[str]]] = tomllib.loads(ALL.read_text(encoding="utf-8"))
    return {(heading, words): tests for heading, rows in listed.items() for words, tests in rows.items()}


def promises(text: str) -> dict[tuple[str, str], set[str]]:
    """Return the tests that a page names, by the heading and the words of each guarantee."""
    found: dict[tuple[str, str], set[str]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| ") and not line.startswith(("| ---", "| guarantee")):
            found[heading, line.split("|")[1].strip()] = set(re.findall(r"`(test_\w+)`", line))
    return found


def test_the_page_has_no_other_section() -> None:
    assert re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE) == list(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_has_its_promises(section: str) -> None:
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = promises(f"# {section}\n{text}")
    assert len(found) >= SECTIONS[section]
    assert [row for row, tests in found.items() if not tests] == []


def test_each_promise_names_tests_of_its_own(proofs: dict[tuple[str, str], list[str]]) -> None:
    found = promises(PAGE.read_text(encoding="utf-8"))
    assert found.keys() == proofs.keys()
    assert {row: tests - set(proofs[row]) for row, tests in found.items() if tests - set(proofs[row])} == {}


def test_each_promise_has_tests_that_exist(proofs: dict[tuple[str, str], list[str]], there: set[str]) -> None:
    named = {test for tests in proofs.values() for test in tests}
    assert len(named) >= NAMED
    assert named - there == set()
