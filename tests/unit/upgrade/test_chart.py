"""An upgrade of the chart with the same values is accepted, and deletes nothing that the installation had."""

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.unit.upgrade.chart import broken, made, read_chart
from tests.unit.upgrade.definitions import released

ACCEPTED: dict[tuple[str, str], str] = {}
"""What may be broken after all, with the reason: by the version and the sentence of `broken`."""
CASES = [(folder, name) for folder in released() for name in read_chart(folder)]


@pytest.mark.parametrize(("folder", "name"), CASES, ids=lambda each: getattr(each, "name", each))
def test_the_values_of_a_released_version_make_objects_that_can_replace_its_own(folder: Path, name: str) -> None:
    """If this fails for a version that is not released yet, freeze it again: remove the folder first."""
    frozen = read_chart(folder)[name]
    lost = [(folder.name, said) for said in broken(frozen["objects"], made(frozen["values"]))]
    assert [each for each in lost if each not in ACCEPTED] == []


def changed(kind: str, change: dict[str, Any]) -> list[dict[str, Any]]:
    found = copy.deepcopy(read_chart(released()[0])["defaults"]["objects"])
    for each in found:
        if each["kind"] == kind:
            each.get("spec", each).update(change)
    return found


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("Deployment", {"selector": {"matchLabels": {"a": "b"}}}, "selector was"),
        ("ClusterRoleBinding", {"roleRef": {"name": "other"}}, "roleRef was"),
        ("ServiceAccount", {"kind": "Other"}, "is gone"),
        ("Deployment", {"replicas": 5}, None),
    ],
)
def test_what_an_upgrade_would_refuse_is_named(kind: str, change: dict[str, Any], said: str | None) -> None:
    old = read_chart(released()[0])["defaults"]["objects"]
    found = list(broken(old, changed(kind, change)))
    assert all(said and said in each for each in found)
    assert bool(found) == bool(said)
