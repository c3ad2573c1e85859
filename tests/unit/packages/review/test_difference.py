"""What changes from one set of objects to another, and which pods restart because of what."""

import pytest

from stateward.packages.rendering.rendering import Use
from stateward.packages.rendering.step_objects import render_plan
from stateward.packages.review.difference import Fate, Restart, difference, differing
from tests.unit.packages.samples import shop


def between(
    before: dict[str, object], after: dict[str, object], operator: tuple[str, str] = ("", "")
) -> tuple[list[str], list[Restart]]:
    old = render_plan(Use(shop(), "web", "prod", before), "deploy")
    new = render_plan(Use(shop(operator=operator), "web", "prod", after), "deploy")
    found = difference((r.body for r in old), (r.body for r in new))
    lines = [f"{change.fate} {change.identity} {','.join(change.fields)}" for change in found.changes]
    return lines, list(found.restarts)


def test_scaling_restarts_nothing() -> None:
    assert between({}, {"COUNT": 5}) == (["changed Deployment prod/web spec.replicas"], [])


def test_data_that_pods_use_restarts_them_and_the_key_is_named() -> None:
    lines, (restart,) = between({}, {"MODE": "fast"})
    assert lines == ["changed ConfigMap prod/web-config data.mode"]
    assert (str(restart.identity), restart.template) == ("Deployment prod/web", ())
    assert restart.keys == ("ConfigMap/web-config:mode",)


def test_an_own_template_that_changes_restarts_with_its_fields() -> None:
    _, (restart,) = between({}, {"STORAGE": "2Gi"})
    assert restart.template == ("spec.template.spec.containers[app].args[0]",)
    assert restart.keys == ()


def test_a_version_of_a_package_that_changes_no_template_restarts_nothing() -> None:
    assert between({}, {}, operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"')) == ([], [])


def test_what_is_added_and_removed_is_named() -> None:
    assert between({}, {"EXTRA": "true"}) == (["added Service web-extra "], [])
    assert between({"EXTRA": "true"}, {})[0] == ["removed Service web-extra "]
    assert Fate.ADDED != Fate.REMOVED


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 2}}, ["a.b", "a.c"]),
        ([{"name": "x", "v": 1}, {"name": "y"}], [{"name": "y"}, {"name": "x", "v": 2}], ["[x].v"]),
        ([1, 2], [1, 3, 4], ["[1]", "[2]"]),
        ({"a": []}, {"a": {}}, ["a"]),
    ],
)
def test_differing_paths(old: object, new: object, paths: list[str]) -> None:
    assert list(differing(old, new)) == paths
