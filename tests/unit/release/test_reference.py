"""The generated pages of events and of labels: they name all that the product has, and nothing else."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import stateward
from release.generated.events import CONDITION_REASONS, CONDITIONS, EVENTS
from release.generated.labels import FOR_USERS, marks
from stateward.operator.act.announce import REASONS
from stateward.operator.declared.reporting import APPLIED

SOURCE = Path(stateward.__file__).parent


def announced() -> Iterator[tuple[str, str]]:
    """Yield each reason that the operator writes as an event by itself, with the file; those of waits are elsewhere."""
    for file in (SOURCE / "operator").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            words = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []
            for before, given in pairwise(words):
                severity = isinstance(before, ast.Attribute) and before.attr in ("NORMAL", "WARNING")
                one = isinstance(before, ast.Name) and before.id == "one"
                if (severity or one) and isinstance(given, ast.Constant):
                    yield str(given.value), file.name


def test_the_page_of_events_has_each_reason() -> None:
    found = {reason for reason, _ in announced()}
    assert len(found) >= 20
    assert {reason for said in EVENTS.values() for reason in said} == found | set(REASONS.values()) | {APPLIED}


def test_the_page_has_each_condition() -> None:
    found: set[str] = set()
    for file in (*(SOURCE / "planning/report").glob("*.py"), SOURCE / "packages/plans/reporting.py"):
        for call in (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)):
            if (
                isinstance(call.func, ast.Name)
                and call.func.id == "condition"
                and isinstance(call.args[0], ast.Constant)
            ):
                found.add(str(call.args[0].value))
    assert found == CONDITIONS.keys()


def test_the_page_has_the_reasons_of_each_condition() -> None:
    found: dict[str, set[str]] = {"Available": {"DatabaseUnknown", "Serving", "ShardsWithoutCopy"}, "Ready": {APPLIED}}
    text = (SOURCE / "planning/report/conditions.py").read_text()
    assert all(f'"{reason}"' in text for reason in found["Available"])
    for place in ("planning/report/conditions.py", "packages/plans/reporting.py", "operator/declared/reporting.py"):
        for call in (node for node in ast.walk(ast.parse((SOURCE / place).read_text())) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id == "condition":
                name = ast.literal_eval(call.args[0])
                parts = (part for given in call.args[2:] for part in ast.walk(given) if isinstance(part, ast.Constant))
                said = (str(part.value) for part in parts)
                found.setdefault(name, set()).update(reason for reason in said if reason.isalpha())
    pace = {"Settled", "InProgress", "Stalled"}  # In a variable.
    assert all(f'"{reason}"' in text for reason in pace)
    found["Reconciling"] |= pace | {"Removing"}  # The default of a parameter.
    assert {name: set(reasons) for name, reasons in CONDITION_REASONS.items()} == found


def test_the_page_of_labels_has_the_names_as_they_are_written() -> None:
    found = {mark.name: mark for mark in marks(SOURCE)}
    assert found.keys() > FOR_USERS
    assert (found["history-of"].kind, found["in-database"].kind, found["run-plan"].kind) == (
        *("label", "finalizer", "annotation"),
    )


def test_a_name_without_a_meaning_is_refused(tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text('LABEL_NEW = f"{GROUP}/new"\nOTHER = 1\n')
    with pytest.raises(ValueError, match=r"names\.py: LABEL_NEW has no docstring, which says what 'new' means"):
        list(marks(tmp_path))
