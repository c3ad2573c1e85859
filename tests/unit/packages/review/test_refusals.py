"""What is refused of an installation or a package before it is stored, and what must come in all the same."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.installation import Installation
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.review.refusals import Holder, refused_installation, refused_package
from tests.unit.packages.samples import OPERATOR, shop

SHOP = shop()


def installation(parameters: dict[str, Any], installed: dict[str, Any] | None = None, **more: Any) -> Installation:
    """Return an installation; `installed` are the values that are in force."""
    state = {"package": "shop-1.2.0", "digest": SHOP.digest, "version": "1.2.0", "parameters": installed or {}}
    status = {} if installed is None else {"installed": state}
    annotations = {ANNOTATION_TRIGGER: more.pop("wish")} if "wish" in more else {}
    body = {
        "metadata": {"name": "web", "namespace": "prod", "annotations": annotations},
        "spec": {"package": "shop-1.2.0", "parameters": parameters},
        "status": status | more,
    }
    return msgspec.convert(body, Installation)


def refused(new: Installation, old: Installation | None = None) -> tuple[str, ...]:
    return refused_installation(SHOP, new, old)


def test_good_values_come_in() -> None:
    assert refused(installation({"COUNT": 3, "MODE": "fast"})) == ()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"COUNT": "many"}, "spec.parameters.COUNT: 'many': must be a whole number"),
        ({"MODE": "quick"}, "spec.parameters.MODE: 'quick': must be one of slow, fast"),
        ({"EXTRA": "on"}, "spec.parameters.EXTRA: 'on': must be true or false"),
        ({"COUMT": 1}, "spec.parameters.COUMT: 1: is not a parameter of shop 1.2.0; did you mean COUNT?"),
        ({"mode": "fast"}, "spec.parameters.mode: 'fast': is not a parameter of shop 1.2.0; did you mean MODE?"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_itself_and_what_is_allowed(values: dict[str, Any], says: str) -> None:
    assert refused(installation(values)) == (says,)


def test_an_immutable_value_is_refused_with_what_it_is() -> None:
    old = installation({"STORAGE": "1Gi"}, {"STORAGE": "1Gi"})
    (said,) = refused(installation({"STORAGE": "2Gi"}, {"STORAGE": "1Gi"}), old)
    assert said == "spec.parameters.STORAGE: '2Gi': cannot be changed once it is installed; it is '1Gi'"


def test_an_immutable_value_that_was_never_given_is_no_change_when_the_next_version_has_another_default() -> None:
    later = shop(params=("default: 1Gi, immutable: true", "default: 9Gi, immutable: true"))
    old = installation({}, {"STORAGE": "1Gi"})
    assert refused_installation(later, installation({"COUNT": 3}, {"STORAGE": "1Gi"}), old) == ()


def test_parameters_that_ask_for_different_plans_are_refused_unless_one_of_them_is_on_its_way() -> None:
    old = installation({}, {})
    both = {"FILE": "other.sql", "COUNT": 5}
    (said,) = refused(installation(both, {}), old)
    assert said.startswith("spec.parameters: these parameters need different plans")
    running = {"plan": "deploy", "stage": "Running"}
    assert refused(installation(both, {}, run=running), installation({}, {}, run=running)) == ()


def test_what_came_in_wrong_may_be_put_right_one_by_one() -> None:
    old = installation({"COUNT": "many", "MODE": "quick"})
    assert refused(installation({"COUNT": 2, "MODE": "quick"}), old) == ()
    assert len(refused(installation({"COUNT": 2, "MODE": "quick", "RATE": "x"}), old)) == 1


def test_parameters_of_different_plans_do_not_block_the_correction_of_a_value_that_came_in_with_them() -> None:
    both = {"FILE": "other.sql", "COUNT": 5}
    assert refused(installation(both, {}), installation({**both, "MODE": "quick"}, {})) == ()
    assert len(refused(installation(both, {}), installation({"FILE": "other.sql"}, {}))) == 1


def test_a_request_for_a_plan_that_is_not_there_is_refused_when_it_comes_in() -> None:
    old = installation({}, {})
    (said,) = refused(installation({}, {}, wish="bakcup/1"), old)
    assert said == "stateward.dev/run-plan: 'bakcup/1': shop has the plans deploy, backup"
    assert refused(installation({"COUNT": 3}, {}, wish="bakcup/1"), installation({}, {}, wish="bakcup/1")) == ()
    assert refused(installation({}, {}, wish="backup/1"), old) == ()


def test_a_version_has_one_content() -> None:
    same = Holder("a", "shop", "1.2.0", SHOP.digest)
    other = Holder("a", "shop", "1.2.0", "sha256:other")
    assert refused_package(SHOP, "b", [same]) == ""
    assert "a is shop 1.2.0 already, with other content" in refused_package(SHOP, "b", [other])
    assert refused_package(SHOP, "a", [other]) == ""
    unknown = Holder("a", "shop", "1.2.0", "")
    newer = Holder("a", "shop", "1.3.0", "sha256:other")
    assert refused_package(SHOP, "b", [unknown, newer]) == ""


def test_an_upgrade_may_bring_the_value_of_one_other_plan_and_not_of_two() -> None:
    scale = "  scale:\n    phases: [{name: p, steps: [{name: s, tasks: [app]}]}]\n"
    rate = ("default: 0.5}", "default: 0.5, trigger: scale}")
    later = shop({"operator.yaml": OPERATOR.replace("1.2.0", "1.3.0") + scale}, params=rate)
    old = installation({}, {})
    assert refused_installation(later, installation({"FILE": "other.sql"}, {}), old) == ()
    (said,) = refused_installation(later, installation({"FILE": "other.sql", "RATE": 2}, {}), old)
    assert said == (
        "spec.parameters: these parameters need different plans; change them one after the other:"
        " scale for RATE; backup for FILE"
    )
