"""Limits and rules of a pool that scales: what is wrong is named with what is accepted."""

from typing import Any

import pytest

from stateward.api.validation import validate
from stateward.api.values.problem import Severity
from tests.unit.api.documents import Document, cluster, document
from tests.unit.api.findings import found, only

DISK = {"measure": "Disk", "above": 75, "below": 50}
CPU = {"measure": "CPU", "above": 70, "below": 40}


def scaled(*rules: Document, roles: list[str] | None = None, storage: Any = None, **limits: int) -> Any:
    scaling = {"min": 2, "max": 9, **limits, **({"rules": list(rules)} if rules else {})}
    first, hot, *others = document()["spec"]["pools"]
    changed = {**hot, "roles": ["data"] if roles is None else roles, "scaling": scaling}
    changed |= {"storage": storage} if storage else {}
    return cluster(pools=[first, changed, *others])


def test_limits_alone_and_all_rules_together_are_right() -> None:
    assert validate(scaled()) == []
    assert validate(scaled(DISK, CPU, {"measure": "Shards", "above": 600, "below": 400})) == []


@pytest.mark.parametrize(
    ("rules", "more", "path", "message"),
    [
        ((), {"min": 5, "max": 4}, "min", "must not be more than max (4)"),
        (({**DISK, "above": 85},), {}, "rules[0].above", "must be at most 84 for Disk, in percent"),
        (({**CPU, "above": 101},), {}, "rules[0].above", "must be at most 100 for CPU, in percent"),
        (({**DISK, "below": 75},), {}, "rules[0].below", "must be less than above (75)"),
        (
            (DISK,),
            {"roles": ["ingest"]},
            "rules[0].measure",
            "the pool holds no data: use CPU, or give it the role data",
        ),
        (
            (DISK,),
            {"storage": {"ephemeral": True}},
            "rules[0].measure",
            "ephemeral storage shares its disk with others: use another measure, or volumes",
        ),
    ],
)
def test_what_is_wrong_is_named(rules: Any, more: Any, path: str, message: str) -> None:
    problems = [p for p in found(scaled(*rules, **more)) if "role data, so" not in p[1]]
    assert problems == [(f"spec.pools[1].scaling.{path}", message)]


def test_fewer_than_three_managers_are_warned_of() -> None:
    of = cluster(pools=[{"name": "all", "replicas": 3, "scaling": {"min": 1, "max": 5}}])
    path, message = only(of, Severity.WARNING)
    assert path == "spec.pools[0].scaling.min"
    assert "fewer than 3 cluster managers" in message
