"""The page that says which test proves which guarantee names tests that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/proofs.md"
SECTIONS = {"Restart control": 21, "Kept pods and security": 40, "Replacement and FoundationDB": 35, "Attackers": 25}
"""The least number of guarantees in each."""


@pytest.fixture(scope="module")
def there() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in sources for name in re.findall(r"def (test_\w+)\(", text)}


def test_the_page_has_no_other_section() -> None:
    assert re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE) == list(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_each_promise_has_a_test_that_exists(section: str, there: set[str]) -> None:
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    promises = [row for row in rows if not row.startswith(("| ---", "| guarantee"))]
    assert len(promises) >= SECTIONS[section]
    assert [row for row in promises if "`test_" not in row] == []
    named = set(re.findall(r"`(test_\w+)`", "\n".join(promises)))
    assert named - there == set()
