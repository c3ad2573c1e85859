"""The pages that say which test proves which promise name tests that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = {"restart-proofs.md": 27, "in-place-proofs.md": 40, "replacement-proofs.md": 35, "threat-proofs.md": 25}
"""The least number of promises on each."""


@pytest.fixture(scope="module")
def there() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in sources for name in re.findall(r"def (test_\w+)\(", text)}


@pytest.mark.parametrize("page", PAGES)
def test_each_promise_has_a_test_that_exists(page: str, there: set[str]) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    promises = [row for row in rows if not row.startswith(("| ---", "| guarantee", "| gap"))]
    assert len(promises) >= PAGES[page]
    assert [row for row in promises if "`test_" not in row] == []
    named = set(re.findall(r"`(test_\w+)`", "\n".join(promises)))
    assert named - there == set()
