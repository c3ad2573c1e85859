"""Decisions that are broken on purpose: each change breaks one, and nothing else."""

import ast
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, in_room
from tests.mutants.changes import changes
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.trial import nearest

CASES = {
    "return a < b": ["a <= b"],
    "return a == b != c": [],
    "return a is None": ["a is not None"],
    "return a in b": ["a not in b"],
    "return not a": ["a"],
    "return True": ["False"],
    "return 1": [],
    "return a and b": ["a or b", "b", "a"],
    "return a and b and c": ["a or b or c", "b and c", "a and c", "a and b"],
    "return a if b else c": ["a if not b else c"],
    "if ä > b: return c": ["ä >= b"],
}


@pytest.mark.parametrize("line", CASES)
def test_a_decision_is_broken_in_each_way(tmp_path: Path, line: str) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"A = 1 < 2\ndef f(a, b, c, ä):\n    {line}\n", encoding="utf-8")
    found = list(changes(tmp_path, file))
    assert [change.after for change in found] == CASES[line]
    for change in found:
        assert (change.function, change.line) == ("f", 3)
        broken = change.applied(file.read_bytes()).decode()
        assert ast.unparse(ast.parse(broken)) != ast.unparse(ast.parse(file.read_bytes()))
        assert broken.splitlines()[:2] == file.read_text(encoding="utf-8").splitlines()[:2]


def test_every_change_of_the_planner_is_a_program_and_another_one() -> None:
    for change in in_room(ROOT / "src/stateward/planning/safety"):
        source = (ROOT / change.file).read_bytes()
        assert ast.dump(ast.parse(change.applied(source))) != ast.dump(ast.parse(source)), change.key


def test_the_tests_of_the_same_room_come_first() -> None:
    rooms = nearest(ROOT, "src/stateward/planning/safety/quorum.py")
    assert rooms == ["tests/unit/planning/safety", "tests/unit/planning"]
    whole = nearest(ROOT, "src/stateward/operator/clusters/reconcile.py")
    assert whole == ["tests/unit/operator/clusters", "tests/unit/operator", "tests/simulation/test_settled.py"]
    assert all((ROOT / tests).exists() for tests in [*rooms, *whole])


def test_changes_that_change_nothing_are_changes_that_exist_and_have_a_reason() -> None:
    known = {change.key for room in ("planning", "operator") for change in in_room(ROOT / "src/stateward" / room)}
    assert EQUIVALENT.keys() <= known
    assert all(reason.endswith(".") for reason in EQUIVALENT.values())
