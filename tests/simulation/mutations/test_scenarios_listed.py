"""Each scenario has a test with its number, a guard whose removal that test notices, and a line in the docs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.mutations.catalog import MUTATIONS

pytestmark = pytest.mark.simulation

HERE = Path(__file__).parents[1]
DOCS = HERE.parents[1] / "docs" / "scenarios.md"
NUMBERS = {*range(1, 5), *range(6, 9), 11, 12, 14, 16, 17, *range(21, 29), *range(30, 33), *range(34, 40)}
"""All of them; a number that is missing here was never given."""


def written() -> Iterator[str]:
    """Yield the names of all tests of the simulation."""
    for file in sorted(HERE.rglob("test_*.py")):
        yield from re.findall(r"^(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)


def test_each_scenario_has_its_number_in_the_name_of_a_test() -> None:
    found = {int(match.group(1)) for name in written() if (match := re.match(r"test_(\d\d)_", name))}
    assert found == NUMBERS


def test_each_scenario_has_a_guard_whose_removal_is_noticed() -> None:
    assert {int(mutation.number) for mutation in MUTATIONS} == NUMBERS


def test_each_scenario_is_in_the_docs() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert {int(number) for number in re.findall(r"^\* (\d+): \S", text, re.MULTILINE)} == NUMBERS
