"""Which of several packages a package installs."""

from itertools import pairwise, permutations

import pytest

from stateward.packages.format.records import Task, TaskKind, TaskSpec
from stateward.packages.rendering.nested import Offer, pick

TASK = Task(name="inner", kind=TaskKind.OPERATOR, spec=TaskSpec(package="shop"))
VERSIONS = [
    "9" * 5000,
    "²",
    "0.9.9",
    "1.2.0-1",
    "1.2.0-alpha",
    "1.2.0-rc.9",
    "1.2.0-rc.10",
    "1.2",
    "1.2.0+build.5",
    "v1.2.1-rc.1",
    "1.2.1",
    "1.10.0",
    "v2.0.0",
]
"""In their order: what is no version first, and a pre-release before its release."""


def newest(*versions: str) -> str:
    found = pick([Offer(f"shop-{version}", "shop", version) for version in versions], TASK)
    assert found is not None
    return found.version


@pytest.mark.parametrize(("older", "newer"), [*pairwise(VERSIONS)])
def test_the_newest_version_is_taken_and_a_pre_release_only_before_its_release(older: str, newer: str) -> None:
    assert {newest(*both) for both in permutations((older, newer))} == {newer}
