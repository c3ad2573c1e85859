"""The page that says which test proves which promise of restart control names tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "restart-proofs.md"


def test_each_promise_of_restart_control_has_a_test_that_exists() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    promises = [row for row in rows if not row.startswith(("| ---", "| promise", "| where"))]
    assert len(promises) >= 27
    assert [row for row in promises if "`test_" not in row] == []
    named = set(re.findall(r"`(test_\w+)`", "\n".join(promises)))
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    there = {name for text in sources for name in re.findall(r"def (test_\w+)\(", text)}
    assert named - there == set()
